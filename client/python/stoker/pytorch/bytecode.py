"""What the bytecode that Dynamo makes calls of torch._dynamo.utils, for processes in which Dynamo is not loaded."""


class WithoutDynamo:
    """Stands for the module. What it does not have needs Dynamo."""

    dict_getitem = dict.__getitem__
    list_getitem = list.__getitem__

    @staticmethod
    def record_pregraph_bytecode_enter():
        """For PyTorch's profiler."""
        return None

    @staticmethod
    def record_pregraph_bytecode_exit(context):
        return None

    @staticmethod
    def object_setattr_ignore_descriptor(owner, name, value):
        object.__getattribute__(owner, "__dict__")[name] = value
