"""Put first on PYTHONPATH by the daemon (docs/preload.md): every Python of the job runs this at its start, then the
sitecustomize that it stands before, as if this one were not there. It watches for the imports that lead to a GPU and
does nothing else until then; who asks the framework is smartmig_held.py beside it. Before Python 3.7 it only goes on."""
import sys


class _Watch:
    """A finder that finds nothing of its own: modules come from the finders behind it, with their own loaders."""

    def __init__(self, here, directory):
        # Taken before the program can replace them (gevent and its like do).
        from _thread import allocate_lock, start_new_thread
        from time import sleep
        self._made = (directory, start_new_thread, allocate_lock, sleep)
        self._here, self._asker = here, None

    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            return self._torch(name, path, target)
        # JAX imports its plugins when it makes its backends, TensorFlow this when it is really imported.
        if name.startswith("jax_plugins.") or name == "tensorflow.python.eager.context":
            self.use(lambda asker: asker.start())
        return None

    def _torch(self, name, path, target):
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                self._after(spec.loader)
                return spec
        return None

    def _after(self, loader):
        """Calls the asker once this loader has run its module; the loader is as it was then."""
        try:
            run = loader.exec_module

            def exec_module(module):
                del loader.exec_module
                run(module)
                self.use(lambda asker: asker.start_with_torch(module))

            if "exec_module" not in vars(loader):
                loader.exec_module = exec_module
        except Exception:  # a loader without a place for it
            pass

    def use(self, what):
        try:
            if self._asker is None:
                from importlib.util import module_from_spec, spec_from_file_location
                spec = spec_from_file_location("smartmig_held", self._here + "/smartmig_held.py")
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                self._asker = module.Asker(*self._made)
            what(self._asker)
        except Exception:
            pass


def _begin():
    import os
    here = os.path.dirname(__file__)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    directory = os.environ.get("SMARTMIG_MEMORY_DIR", "")
    if not directory.startswith("/") or sys.version_info < (3, 7):
        return
    watch = _Watch(here, directory)
    sys.meta_path.insert(0, watch)
    if "torch" in sys.modules:  # by a line of a .pth file
        watch.use(lambda asker: asker.start_with_torch(sys.modules["torch"]))


def _go_on():
    """The next sitecustomize takes this one's place. Where there is none the import fails, as it would have."""
    if sys.version_info < (3,):
        import imp
        del sys.modules["sitecustomize"]
        imp.load_module("sitecustomize", *imp.find_module("sitecustomize"))
        return
    from _frozen_importlib import module_from_spec  # importlib.util would import a dozen more
    for finder in list(sys.meta_path):
        spec = finder.find_spec("sitecustomize", None) if hasattr(finder, "find_spec") else None
        if spec is not None and spec.loader is not None:
            module = sys.modules["sitecustomize"] = module_from_spec(spec)
            spec.loader.exec_module(module)
            return
    missing = ImportError if sys.version_info < (3, 6) else ModuleNotFoundError
    raise missing("No module named 'sitecustomize'", name="sitecustomize")


_begin()
_go_on()
