"""A language model for tests: an OpenAI-compatible server on loopback that answers with what a large model once wrote down.

    python3 replay.py [--port 0] [--annotations DIR …] [--faults FILE] [--log FILE] [--delay SECONDS] [--key KEY]

Prints its base URL (http://127.0.0.1:PORT/v1) as its first line, ends on SIGTERM. Standard library only. README.md beside it says what is
annotated, how a task is recognised and what each fault does. It knows nothing of kgfs: it looks at the request alone.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^\[(?:S:[^\]|]*\|)?[^\]]*?\bC:([0-9a-f]+)[^\]]*\]\s*$", re.M)
FAULTS = {
    "malformed": "the JSON breaks off in the middle",
    "fenced": "the JSON stands in a Markdown fence with words before it",
    "wrong_enum": "one role or authority is none of the allowed ones",
    "missing_field": "one required field is missing",
    "paraphrase": "quotes have other white space, quotation marks or case",
    "reworded": "one quote says the same in other words",
    "invented_quote": "one quote stands nowhere",
    "invented_citation": "citations name chunks that were not shown",
    "refusal": "a sentence of refusal in place of an answer",
    "empty": "no content at all",
    "http_400": "a 400 with an error object", "http_401": "a 401", "http_429": "a 429 with Retry-After: 1", "http_500": "a 500", "http_503": "a 503",
    "drop": "the connection is closed after half of the body", "stall": "nothing for 3,600 seconds",
}


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


class Notes:
    def __init__(self, folders: list[Path]) -> None:
        self.documents = [json.loads(p.read_text(encoding="utf-8")) for folder in folders for p in sorted(folder.glob("*.json"))]
        self.questions: dict[str, list[dict]] = {}
        for document in self.documents:
            for question in document.get("questions", []):
                self.questions.setdefault(squeezed(question["question"]).lower(), []).append(question)

    def extraction(self, prompt: str) -> dict[str, list]:
        """Everything of all documents whose (first) quote stands in the prompt."""
        seen = squeezed(prompt)
        out: dict[str, list] = {"concepts": [], "relationships": [], "claims": []}
        for document in self.documents:
            for concept in document.get("concepts", []):
                quotes = [q for q in concept["quotes"] if squeezed(q) in seen]
                if quotes:
                    out["concepts"].append({**concept, "quotes": quotes})
            for kind in ("relationships", "claims"):
                out[kind] += [item for item in document.get(kind, []) if squeezed(item["quote"]) in seen]
        return out

    def context(self, prompt: str) -> str:
        seen = squeezed(prompt)
        shared = lambda document: sum(squeezed(q) in seen for c in document.get("concepts", []) for q in c["quotes"])  # noqa: E731
        best = max(self.documents, key=shared, default=None)
        return best["summary"] if best and shared(best) else "No summary was written down for this document."

    def answer(self, prompt: str) -> str:
        low = squeezed(prompt).lower()
        found = max((q for q in self.questions if q in low), key=len, default=None)
        if found is None:
            return "Not found in sources"
        marks = list(BLOCK.finditer(prompt))
        blocks = [(m.group(1), squeezed(prompt[m.end() : marks[i + 1].start() if i + 1 < len(marks) else len(prompt)])) for i, m in enumerate(marks)]
        said = []
        for part in (part for note in self.questions[found] for part in note.get("answer", [])):
            cited = [chunk for chunk, text in blocks if any(squeezed(q) in text for q in part["quotes"])]
            if cited:
                said.append(part["sentence"].rstrip(".") + " " + "".join(f"[C:{c}]" for c in cited[:2]) + ".")
        return " ".join(said) or "Not found in sources"

    def intent(self, prompt: str) -> dict:
        low = squeezed(prompt).lower()
        found = max((q for q in self.questions if q in low), key=len, default=None)
        note = self.questions.get(found or "", [{}])[0]
        return {"intent": note.get("intent", "educational"), "domain": note.get("domain", "unknown"), "funnel_stage": note.get("funnel_stage", "unknown"), "expansions": note.get("expansions", [])}


def task_of(request: dict) -> str:
    schema = ((request.get("response_format") or {}).get("json_schema") or {}).get("schema") or {}
    keys = set(schema.get("properties", {}))
    if keys & {"concepts", "relationships", "claims"}:
        return "extraction"
    if "context" in keys or "summary" in keys:
        return "context"
    if "intent" in keys:
        return "intent"
    return "answer"


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, notes: Notes, faults: dict, log, delay: float, key: str) -> None:
        super().__init__(address, Handler)
        self.notes, self.faults, self.log, self.delay, self.key = notes, faults, log, delay, key
        self.tries: dict[str, int] = {}
        self.lock = threading.Lock()

    def fault(self, digest: str, attempt: int, task: str) -> str:
        """Deterministic: by the request and which time it is asked."""
        point = int(hashlib.sha256(f"{digest}:{attempt}".encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
        for name, share in self.faults.items():
            kind, _, only = name.partition("@")
            if only and only != task:
                continue
            if point < share:
                return kind
            point -= share
        return ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *args) -> None:
        pass

    def _send(self, status: int, body: dict, headers: dict[str, str] = {}) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _barred(self) -> bool:
        if self.server.key and self.headers.get("Authorization") != f"Bearer {self.server.key}":
            self._send(401, {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}})
            return True
        return False

    def do_GET(self) -> None:
        if self._barred():
            return
        if self.path.rstrip("/") == "/v1/models":
            self._send(200, {"object": "list", "data": [{"id": "replay", "object": "model", "created": 0, "owned_by": "tests"}]})
        else:
            self._send(404, {"error": {"message": f"no {self.path}"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self._barred():
            return
        if self.path.rstrip("/") != "/v1/chat/completions":
            return self._send(404, {"error": {"message": f"no {self.path}"}})
        request = json.loads(raw)
        prompt = "\n\n".join(m["content"] if isinstance(m["content"], str) else " ".join(p.get("text", "") for p in m["content"]) for m in request["messages"])
        task, digest = task_of(request), hashlib.sha256(raw).hexdigest()
        with self.server.lock:
            attempt = self.server.tries[digest] = self.server.tries.get(digest, 0) + 1
        fault = self.server.fault(digest, attempt, task)
        if self.server.log:
            with self.server.lock:
                self.server.log.write(json.dumps({"at": time.time(), "task": task, "digest": digest, "attempt": attempt, "fault": fault, "stream": bool(request.get("stream")), "characters": len(prompt)}) + "\n")
                self.server.log.flush()
        if self.server.delay:
            time.sleep(self.server.delay)
        if fault == "stall":
            time.sleep(3600)
        if fault.startswith("http_"):
            status = int(fault[5:])
            return self._send(status, {"error": {"message": FAULTS[fault], "type": "server_error", "code": status}}, {"Retry-After": "1"} if status == 429 else {})
        self._answer(request, prompt, task, fault)

    def _answer(self, request: dict, prompt: str, task: str, fault: str) -> None:
        notes = self.server.notes
        if task == "extraction":
            wanted = request["response_format"]["json_schema"]["schema"]["properties"]
            said = {k: v for k, v in notes.extraction(prompt).items() if k in wanted}
            text = json.dumps(marred(said, fault), ensure_ascii=False)
        elif task == "context":
            keys = request["response_format"]["json_schema"]["schema"]["properties"]
            text = json.dumps({"context" if "context" in keys else "summary": notes.context(prompt)}, ensure_ascii=False)
        elif task == "intent":
            text = json.dumps(notes.intent(prompt), ensure_ascii=False)
        else:
            text = notes.answer(prompt)
            if fault == "invented_citation":
                text = re.sub(r"\[C:[0-9a-f]+\]", lambda m: "[C:" + hashlib.sha256(m.group().encode()).hexdigest()[:12] + "]", text)
        if fault == "malformed":
            text = text[: len(text) * 2 // 3]
        elif fault == "fenced":
            text = f"Here is the JSON you asked for:\n\n```json\n{text}\n```"
        elif fault == "refusal":
            text = "I'm sorry, but I can't help with that."
        elif fault == "empty":
            text = ""
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4, "total_tokens": (len(prompt) + len(text)) // 4}
        head = {"id": "chatcmpl-" + hashlib.sha256(prompt.encode()).hexdigest()[:24], "created": 0, "model": request.get("model", "replay")}
        finish = "length" if fault == "malformed" else "stop"
        if request.get("stream"):
            return self._stream(head, text, finish, usage, fault)
        body = {**head, "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}], "usage": usage}
        if fault == "drop":
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.close_connection = True
            return
        self._send(200, body)

    def _stream(self, head: dict, text: str, finish: str, usage: dict, fault: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        pieces = re.findall(r"\S+\s*|\s+", text)
        for n, piece in enumerate(pieces):
            if fault == "drop" and n > len(pieces) // 2:
                return
            event = {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        last = {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}
        self.wfile.write(f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode())


def marred(said: dict, fault: str) -> dict:
    """What was written down, with the fault of a real model in it."""
    said = json.loads(json.dumps(said))
    quoted = [*said.get("relationships", []), *said.get("claims", [])]
    if fault == "paraphrase":
        for item in quoted:
            item["quote"] = item["quote"].replace("\n", " ").replace("``", "").replace('"', "”").replace("'", "’")
        for concept in said.get("concepts", []):
            concept["quotes"] = [squeezed(q).replace("*", "").upper() if n % 3 == 2 else squeezed(q).replace("``", "`") for n, q in enumerate(concept["quotes"])]
    elif fault == "reworded" and quoted:
        words = quoted[0]["quote"].split()
        quoted[0]["quote"] = " ".join(["In", "short,", *words[len(words) // 3 :], "and", "so", "on"])
    elif fault == "invented_quote" and quoted:
        quoted[-1]["quote"] = "The committee unanimously agreed on this point in the spring of that year."
    elif fault == "wrong_enum" and said.get("claims"):
        said["claims"][0]["role"], said["claims"][0]["authority"] = "opinion", "very high"
    elif fault == "missing_field" and said.get("claims"):
        said["claims"][0].pop("claim")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--annotations", type=Path, action="append", help="folders of annotations; default: beside this file")
    parser.add_argument("--faults", type=Path, help='JSON: {"malformed": 0.1, "http_429": 0.05, "wrong_enum@extraction": 0.1}; shares of requests, the same for the same request and attempt')
    parser.add_argument("--log", type=Path, help="one JSON line a request")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--key", default="", help="refuse requests without this bearer token")
    args = parser.parse_args()
    faults = json.loads(args.faults.read_text()) if args.faults else {}
    unknown = {name.partition("@")[0] for name in faults} - set(FAULTS)
    if unknown:
        sys.exit(f"unknown faults: {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
    log = args.log.open("a", encoding="utf-8") if args.log else None
    server = Server(("127.0.0.1", args.port), Notes(args.annotations or [HERE / "annotations"]), faults, log, args.delay, args.key)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
