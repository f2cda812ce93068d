class Grounds:
    def __init__(self, text, *around, labels=(), domains=(), date=""):
        pass

    def invented(self, s):
        return ()

    def added(self, s, t):
        return ()
