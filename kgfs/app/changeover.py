"""Take a home from one embedding model to another, while the former one answers questions and reads documents.

The new vectors are stored in the garage beside those that each document was read with, in parts, while no document
waits. When every Reading has them, their rows are written beside the rows in use, and search changes over in one step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kgfs.app import timing
from kgfs.app.embedder_wanted import wanted
from kgfs.app.home import model_in_use, open_to_derive
from kgfs.app.turns import replay
from kgfs.config import Config
from kgfs.errors import AWAY, CorruptError, LostLeaseError, MissingError, ModelMissingError
from kgfs.ingest.lifecycle.embed_again import Giving
from kgfs.ingest.lifecycle.rebuild import rebuild_vectors
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.opening import open_vectors
from kgfs.stores.worker_lock import worker_note

if TYPE_CHECKING:  # models, which are loaded by the worker alone
    from kgfs.compute.contract import Compute
    from kgfs.compute.local import LocalCompute
    from kgfs.ingest.working.turns import Turns
    from kgfs.stores.vectors.contract import Vectors


def models_of(config: Config) -> tuple[LocalCompute, LocalCompute | None]:
    """Load the models that a worker reads with, and the one whose embeddings are to replace theirs, if there is one.

    A home that has vectors of another model than the configured one is read with its own until it has changed over.
    Where its own is not installed, or not known to this version, it is read with the configured one at once.
    """
    from kgfs.compute.local import LocalCompute
    from kgfs.models.selection import setting_of

    settings, in_use = config.models, ""
    if settings.embedder != "none":
        in_use = _model_on_server(config) if settings.embedder == "auto" else ""
        in_use = in_use or str(worker_note(config.run).get("embedder", "")) or _model_of_readings(config)
    former, named = setting_of(in_use), wanted(config)
    if named not in ("auto", "none", former) and former:
        try:
            compute = LocalCompute(replace(settings, embedder=former))
            return compute, compute.embedding_with(named)
        except ModelMissingError as error:
            ErrorLog(config.errors_log).add("changeover", error)
    return LocalCompute(settings, in_use=in_use if settings.embedder == "auto" else ""), None


def reading_with(config: Config, compute: Compute) -> Config:
    """Return the configuration whose models are those of ``compute``, for processes that read beside the worker."""
    from kgfs.models.selection import setting_of

    if config.models.embedder == "auto" or not (named := setting_of(compute.embedding_model)):
        return config
    return replace(config, models=replace(config.models, embedder=named))


def _model_on_server(config: Config) -> str:
    """Return the known model whose vectors are in use on a server that homes share, '' if none is, or it is away."""
    from kgfs.models.selection import SETTINGS

    if not config.garage_store.shared or config.vectors.store == "sqlite":
        return ""
    for model in SETTINGS:
        with closing(open_vectors(config, model)) as vectors, suppress(*AWAY):
            if vectors.complete():
                return model
    return ""


def _model_of_readings(config: Config) -> str:
    with open_to_derive(config) as stores:
        return model_in_use(config, stores)


class Changeover:
    """Gives what a home shows vectors of a second model, and changes over when all have them. One thread."""

    def __init__(
        self,
        config: Config,
        stores: Stores,
        compute: Compute,
        turns: Turns,
        *,
        put_in_use: Callable[[Vectors], None],
        tell: Callable[[int, int], None],
        open_vectors: Callable[[Config, str], Vectors] = open_vectors,
    ) -> None:
        """``stores`` are those of the model in use. ``put_in_use`` is called with the complete vectors, which it has to
        close in the end; when it returns, no question is being answered with the former ones. ``tell`` is called with
        the Sources that have vectors, and all.
        """
        self._config = config
        self._stores = stores
        self._model = compute.embedding_model
        self._turns = turns
        self._put_in_use = put_in_use
        self._tell = tell
        self._open = open_vectors
        self._giving = Giving(stores, compute)
        self._waits_for_turn = False
        self._told_next = 0.0
        self.is_over = False
        """Whether the home has changed over."""

    def prepare(self, derive: Callable[[], None]) -> None:
        """Remove what a killed process left of the new rows, and call ``derive``, which derives those in use.

        Where the former process was killed behind the change, or another home that writes to the same server has made
        it, raise LostLeaseError: the home has changed over.
        """
        with ExitStack() as undo:
            vectors = self._open(self._config, self._model)
            undo.callback(vectors.close)
            if vectors.complete():
                undo.pop_all()  # who uses them closes them
                self._put_in_use(vectors)
                self.is_over = True
                raise LostLeaseError("The home has changed over to another embedding model.")
            if not self._on_shared_server:  # there another home may be writing them
                vectors.clear()
        derive()

    def part(self) -> bool:
        """Do about a second of the work; return whether there was something to do.

        The last part, which writes the rows, takes longer, but asks no model. Raises the errors of the stores.
        """
        if self.is_over:
            return False
        if not self._waits_for_turn and self._gave():
            return True
        if self._on_shared_server:
            self._waits_for_turn = self._turns.publisher() is None
            if self._waits_for_turn:
                time.sleep(timing.TURN_POLL)
                return True
            if self._gave():  # what others published before this turn
                return True
        self._change()
        return True

    def _gave(self) -> bool:
        given = self._giving.part()
        if given and (time.monotonic() >= self._told_next or self._giving.done == self._giving.total):
            self._told_next = time.monotonic() + timing.CHANGEOVER_TOLD
            self._tell(self._giving.done, self._giving.total)
        return given

    @property
    def _on_shared_server(self) -> bool:
        return self._stores.catalog.sharing and self._config.vectors.store != "sqlite"

    def _change(self) -> None:
        """Write the rows of the new model, put them into use, and remove the former ones."""
        with ExitStack() as undo:
            vectors = self._open(self._config, self._model)
            undo.callback(vectors.close)

            def use() -> None:
                undo.pop_all()  # who uses them closes them
                self._put_in_use(vectors)

            if self._on_shared_server and vectors.complete():  # another home was first
                use()
                self.is_over = True
                return
            try:
                self._derive(replace(self._stores, vectors=vectors), use)
            except (MissingError, CorruptError) as error:  # raised when everything else is done
                ErrorLog(self._config.errors_log).add("recover", error)
        self.is_over = True

    def _derive(self, stores: Stores, use: Callable[[], None]) -> None:
        if not stores.catalog.sharing:
            rebuild_vectors(stores, before_use=use)
            return
        from kgfs.sharing.follow_vectors import follow_vectors  # needed by shared homes only
        from kgfs.sharing.vector_positions import position_of

        position = position_of(self._config, stores)
        position.forget()
        anew = replace(replay(), vectors_anew=partial(rebuild_vectors, before_use=use))
        follow_vectors(stores, anew, position)
        position.conclude()


class Superseded:
    """Tells whether another home has changed over to another model on a server that both use. Asks seldom."""

    def __init__(self, config: Config, stores: Stores) -> None:
        shared = stores.catalog.sharing and config.vectors.store != "sqlite"
        self._vectors = stores.vectors if shared else None
        self._next = 0.0
        self.is_due = False
        """Whether it was found that another home has changed over."""

    def __call__(self) -> bool:
        if self._vectors is None or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + timing.SUPERSEDED_POLL
        with suppress(*AWAY):
            self.is_due = self._vectors.superseded()
        return self.is_due
