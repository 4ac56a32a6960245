"""Every private name of PyTorch that this package uses, with what it is for: the one list.

facts.py checks that each exists and is as said here; tests/lint/check_private_names.py that the package uses no
other, and nothing else in Stoker any.
"""

from typing import NamedTuple

# Features: what is turned off, alone, where one of its names is not there.
GRAPHS = "functional graphs"
WEIGHTS = "packed weights"
SIZES = "symbolic sizes"
GPUS = "kernels for GPUs"
CAPTURES = "captures"
TRAINING = "captures of training"
OPTIMIZERS = "captures of optimizers"
DIRECT = "warm starts of stoker.compile"
EXPORTED = "archives of torch.export"


class Name(NamedTuple):
    path: str  # "module:qualified.name"
    features: tuple
    purpose: str
    parameters: tuple = None  # Of a function in Python: its first ones. Others must have defaults.
    fields: tuple = None  # Of a dataclass, or any class that says what its objects hold: ones that it must have.


_BOTH = (CAPTURES, DIRECT)
_FRAME = "torch._dynamo.convert_frame"
_GUARDS = "torch._dynamo.guards"
_SOURCE = "torch._dynamo.source"
_META = "torch._functorch._aot_autograd.schemas"


def _builder(kinds, *arguments):
    """Guard kinds: how each is made is what is read of it."""
    return tuple(
        Name(f"{_GUARDS}:GuardBuilder.{kind}", (CAPTURES,), "a kind of guard",
             ("self", "guard", *arguments))
        for kind in kinds)


def _sources(names, *fields):
    return tuple(
        Name(f"{_SOURCE}:{name}", (CAPTURES,), "how a guard reaches its object", fields=fields)
        for name in names)


def _flags(module, names, purpose):
    return tuple(Name(f"{module}:{name}", _BOTH, purpose) for name in names)


NAMES = (
    # ---- from Dynamo's graph to functional ATen graphs ----
    Name("torch._functorch.aot_autograd:aot_module_simplified", (GRAPHS,),
         "AOTAutograd, without what loads Inductor", ("mod", "args", "fw_compiler")),
    Name("torch._functorch.partitioners:default_partition", (GRAPHS,),
         "how a joint graph becomes forward and backward", ("joint_module", "_joint_inputs", "num_fwd_outputs")),
    Name("torch._dynamo.backends.common:aot_autograd", (), "the same, documented, where the first is otherwise"),
    Name("torch._dynamo.utils:flatten_graph_inputs", (GRAPHS,),
         "graphs whose inputs are lists", ("gm", "inputs", "compile_gm")),
    Name("torch._dynamo.exc:TorchDynamoException", (GRAPHS,),
         "Dynamo's way to start over, or to say what the user's program does wrong"),
    Name("torch.utils._python_dispatch:_disable_current_modes", (GRAPHS, SIZES),
         "looking at real tensors while AOTAutograd's fake mode is on", ()),
    Name("torch._guards:TracingContext.try_get", (WEIGHTS, CAPTURES),
         "AOTAutograd's metadata of the graph being compiled", ()),
    Name(f"{_META}:ViewAndMutationMeta", (WEIGHTS,), "which inputs are parameters and buffers",
         fields=("static_input_indices", "input_info")),
    Name("torch._C:_has_storage", (GRAPHS,), "whether a tensor is a batch of gradients"),
    Name("torch._subclasses.fake_tensor:FakeTensor", (GRAPHS,), "whether a tensor has no memory"),
    Name("torch._C:_get_dispatch_mode", (GRAPHS,), "whether tensors are made without memory"),
    Name("torch._C:_TorchDispatchModeKey.FAKE", (GRAPHS,), "the same"),
    Name("torch._C:_storage_Use_Count", (WEIGHTS,), "whether anybody else holds a parameter's memory"),
    Name(f"{_META}:InputAliasInfo", (WEIGHTS,), "which of them a graph changes",
         fields=("mutates_data", "mutates_metadata")),
    Name("torch._subclasses.fake_tensor:DynamicOutputShapeException", (SIZES,), "an operator whose sizes only a run knows"),
    Name("torch._subclasses.fake_tensor:DataDependentOutputException", (SIZES,), "one whose number only a run knows"),
    Name("torch._subclasses.fake_tensor:FakeTensorMode", (SIZES,),
         "sizes that follow from a call's arguments"),
    Name("torch.fx.experimental.sym_node:SymNode.expr", (SIZES,), "sizes in terms of others"),

    # ---- GPUs ----
    Name("torch._C:_construct_storage_from_data_pointer", (GPUS,), "a tensor over a plan's memory"),
    Name("torch._C:_dispatch_has_kernel_for_dispatch_key", (GPUS,), "which operators write where they are told to"),
    Name("torch._C:_select_conv_backend", (GPUS,), "which library computes a convolution"),
    Name("torch._C:_ConvBackend.Cudnn", (GPUS,), "the same"),
    Name("torch._C:_get_cudnn_benchmark", (GPUS,), "how cuDNN computes one"),
    Name("torch._C:_get_cudnn_deterministic", (GPUS,), "the same"),
    Name("torch._C:_get_deterministic_algorithms", (GPUS,), "the same"),
    Name("torch._C:_cuda_getCurrentRawStream", (), "the stream that a program computes on, with a GPU alone"),
    Name("torch._C:_cuda_getDevice", (), "the GPU that a program computes on, the same"),
    Name("torch._C:_cuda_cudaCachingAllocator_raw_alloc", (), "memory that a call works in, the same"),
    Name("torch._C:_cuda_cudaCachingAllocator_raw_delete", (), "the same"),
    Name("torch._C:_tensors_data_ptrs_at_indices_equal", (), "whether tensors lie where they did, the same"),
    Name("torch._C._dynamo.guards:_empty_strided_cpu", (), "memory for what kernels give, without its way through the dispatcher"),
    Name("torch._C:_cuda_isCurrentStreamCapturing", (), "whether a program records a CUDA graph itself, the same"),
    Name("torch.utils._python_dispatch:TorchDispatchMode", (GPUS,), "whether all that is recorded is on the GPU"),

    # ---- programs of torch.export, to ask ahead for what their jobs will ----
    Name("torch._export.serde.schema:ExportedProgram", (EXPORTED,), "a program as it is saved", fields=(
        "graph_module", "opset_version", "range_constraints", "schema_version", "verifiers", "guards_code")),
    Name("torch._export.serde.serialize:_dict_to_dataclass", (EXPORTED,), "the same", ("cls", "data")),
    Name("torch._export.serde.serialize:ExportedProgramDeserializer.deserialize", (EXPORTED,),
         "a program out of what is saved", ("self", "exported_program", "state_dict", "constants")),
    Name("torch._export.serde.serialize:deserialize_scalar_type", (EXPORTED,), "types of tensors", ("st",)),
    Name("torch.utils._pytree:treespec_loads", (EXPORTED,), "how arguments are arranged", ("serialized",)),
    Name("torch.utils._pytree:tree_unflatten", (EXPORTED,), "the same", ("leaves", "treespec")),
    Name("torch.utils._pytree:tree_leaves", (EXPORTED,), "tensors among results", ("tree",)),
    Name("torch.utils._pytree:SERIALIZED_TYPE_TO_PYTHON_TYPE", (EXPORTED,), "which classes are known"),
    Name("torch._C:_dispatch_get_all_op_names", (EXPORTED,), "which operators are registered"),

    # ---- frames: finding a capture before Dynamo traces, recording what it traced ----
    Name(f"{_FRAME}:catch_errors_wrapper", (CAPTURES,),
         "makes the callback that CPython's frame evaluation calls", ("callback", "hooks")),
    Name(f"{_FRAME}:CheckFunctionManager", (CAPTURES,),
         "the guards of a frame, with the sources they were made from", ("f_code", "output_graph")),
    Name(f"{_FRAME}:has_tensor_in_frame", (CAPTURES,), "frames without tensors"),
    Name("torch._dynamo.external_utils:wrap_inline", (), "a frame around what Dynamo would not look into", ("fn",)),
    Name(f"{_FRAME}:output_codes", (CAPTURES,), "Dynamo's book of its own output"),
    Name("torch._dynamo.variables.functions:invoke_and_store_as_constant", (CAPTURES,),
         "calls of functions whose results count as constant", ("tx", "fn", "name", "args", "kwargs")),
    Name("torch._dynamo.variables.nn_module:invoke_and_store_as_constant", (CAPTURES,),
         "the same, of methods of modules", ("tx", "fn", "name", "args", "kwargs")),
    Name("torch._dynamo.variables:ConstantVariable.__init__", (CAPTURES,), "every constant of a trace",
         ("self", "value")),
    Name("torch._dynamo.variables:UserDefinedObjectVariable.__init__", (CAPTURES,), "every object of a trace",
         ("self", "value")),
    Name("torch._dynamo.variables:EnumVariable", (), "members of enumerations, where these are no such objects"),
    Name("torch._dynamo.variables:ByteArrayVariable", (), "bytes that may change, where these are no such objects"),
    Name("torch._dynamo.guards:make_dupe_guard", (CAPTURES,), "objects that are met once more",
         ("obj_source", "dupe_source")),
    Name("torch._dynamo.guards:install_guard", (CAPTURES,), "guards that Dynamo makes and leaves out", ("guards", "skip")),
    Name("torch._dynamo.variables.builder:VariableBuilder", (CAPTURES,), "what it reads, with or without a guard"),
    Name("torch._dynamo.variables.builder:VariableBuilder._wrap", (CAPTURES,), "the same", ("self", "value")),
    Name("torch._dynamo.variables.dicts:ConstDictVariable", (CAPTURES,), "dictionaries whose keys it takes without one"),
    Name("torch._dynamo.symbolic_convert:InstructionTranslatorBase.step", (CAPTURES,), "every instruction that is traced",
         ("self",)),
    Name("torch._dynamo.symbolic_convert:InstructionTranslatorBase", (CAPTURES,), "the same, and where it stands",
         fields=("current_instruction",)),
    Name("torch._dynamo.bytecode_transformation:Instruction", (CAPTURES,), "the same", fields=("positions",)),
    *(Name(path, (), "what a graph calls for its effect, and nothing of it stays") for path in (
        "torch._C:_set_grad_enabled", "torch._C:_set_fwd_grad_enabled", "torch.amp.autocast_mode:_enter_autocast",
        "torch.amp.autocast_mode:_exit_autocast", "torch.autograd.grad_mode:_enter_inference_mode",
        "torch.autograd.grad_mode:_exit_inference_mode", "torch.autograd.forward_ad:_maybe_load_decompositions",
        "torch._C:_log_api_usage_once")),
    Name("torch._dynamo.variables.optimizer:OptimizerVariable", (OPTIMIZERS,), "what stands for an optimizer in a trace"),
    Name("torch._dynamo.variables.optimizer:OptimizerVariable.map_sources_and_install_guards", (OPTIMIZERS,),
         "its states are made, and its tensors become the graph's", ("self", "tx")),
    Name("torch._dynamo.variables.optimizer:OptimizerVariable.move_step_if_cpu", (OPTIMIZERS,),
         "what is done before", ("self",)),
    Name("torch._dynamo.variables.optimizer:OptimizerVariable._set_capturable", (OPTIMIZERS,), "the same", ("self", "tx")),
    Name("torch._dynamo.variables.optimizer:OptimizerVariable._safe_to_set_capturable", (),
         "which groups are set so for that moment, where that is all", ("self", "group")),
    Name("torch._dynamo.decorators:mark_static_address", (OPTIMIZERS,), "how tensors are marked then", ("t",)),
    Name("torch._dynamo.guards:DeletedGuardManagerWrapper", (OPTIMIZERS,), "code of no use any more", ("reason",)),
    Name("torch.optim:Adam._init_group", (OPTIMIZERS,), "makes first states"),
    Name("torch.optim.optimizer:_global_optimizer_pre_hooks", (OPTIMIZERS,), "functions of the program's at each step"),
    Name("torch.optim.optimizer:_global_optimizer_post_hooks", (OPTIMIZERS,), "the same"),
    Name("torch.optim:Optimizer", (OPTIMIZERS,), "the same", fields=("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")),
    Name("torch._dynamo.utils:orig_code_map", (CAPTURES,), "Dynamo's book of what a code was made from"),
    Name("torch._dynamo.types:ConvertFrameReturn", (CAPTURES,), "what a frame callback returns",
         fields=("guarded_code",)),
    Name("torch._dynamo.types:GuardedCode", (CAPTURES,), "bytecode under a guard of our own",
         fields=("code", "guard_manager", "compile_id", "trace_annotation")),
    Name("torch._dynamo.types:wrap_guarded_code", (CAPTURES,), "the same", ("guarded_code",)),
    Name(f"{_GUARDS}:GuardManagerWrapper", (CAPTURES,), "the same"),
    Name(f"{_GUARDS}:GuardManagerWrapper.check", (CAPTURES,), "Dynamo's guards, behind our own", ("self", "x")),
    Name("torch._C._dynamo.guards:RootGuardManager", (CAPTURES,), "the same"),
    Name("torch._guards:CompileId", (CAPTURES,), "the same", fields=("frame_id", "frame_compile_id")),

    # ---- guards ----
    Name("torch._guards:Guard", (CAPTURES,), "one guard",
         fields=("originating_source", "create_fn", "code_list", "user_stack")),
    Name("torch._guards:Guard.sort_key", (CAPTURES,), "the order that Dynamo checks them in", ("self",)),
    Name("torch._guards:Guard.create_fn_name", (CAPTURES,), "the kind of a guard", ("self",)),
    Name(f"{_GUARDS}:convert_to_concrete_values", (CAPTURES,),
         "which sizes and strides of a tensor are symbolic"),
    *_builder((
        "TYPE_MATCH", "ID_MATCH", "FUNCTION_MATCH", "CLASS_MATCH", "MODULE_MATCH", "BUILTIN_MATCH",
        "CLOSURE_MATCH", "CONSTANT_MATCH", "EQUALS_MATCH", "BOOL_MATCH", "NONE_MATCH", "NOT_NONE_MATCH",
        "SEQUENCE_LENGTH", "EMPTY_NN_MODULE_HOOKS_DICT", "DICT_KEYS_MATCH", "MAPPING_KEYS_CHECK",
        "DICT_VERSION", "TENSOR_MATCH", "SHAPE_ENV")),
    *_builder(("NOT_PRESENT_IN_GENERIC_DICT",), "attr"),
    *_builder(("DUPLICATE_INPUT",), "source_b"),
    Name("torch._dynamo.output_graph:OutputGraphGuardsState", (CAPTURES,),
         "dictionaries whose order is guarded without a guard", fields=("guard_on_key_order",)),
    *_sources((
        "NNModuleSource", "UnspecializedNNModuleSource", "UnspecializedBuiltinNNModuleSource",
        "FSDPNNModuleSource", "SkipGuardSource", "OptimizerSource", "CodeSource", "ClosureSource",
        "TypeMROSource", "TypeSource", "TypeDictSource", "NumpyTensorSource"), "base"),
    *_sources((
        "AttrSource", "GenericAttrSource", "CellContentsSource", "GradSource", "ParamBufferSource",
        "UnspecializedParamBufferSource"), "base", "member"),
    *_sources((
        "GetItemSource", "DictGetItemSource", "DictSubclassGetItemSource", "ListGetItemSource",
        "ConstDictKeySource"), "base", "index"),
    *_sources(("DefaultsSource",), "base", "idx_key", "is_kw"),
    Name(f"{_SOURCE}:Source", (CAPTURES,), "the class of all of them"),
    *_sources(("LocalSource",), "local_name"),
    *_sources(("GlobalSource",), "global_name"),
    *_sources(("ImportSource",), "module_name"),

    # ---- AOTAutograd's runtime, which a capture takes the place of ----
    Name(f"{_META}:ViewAndMutationMeta", (CAPTURES,), "what happens around a graph", fields=(
        "input_info", "output_info", "num_intermediate_bases", "subclass_inp_meta",
        "grad_enabled_mutation", "tokens", "num_graphsafe_rng_states")),
    Name(f"{_META}:InputAliasInfo", (CAPTURES,), "the same", fields=(
        "mutates_data", "mutates_metadata", "mutates_storage_metadata")),
    Name(f"{_META}:OutputAliasInfo", (CAPTURES,), "the same", fields=("output_type", "base_idx")),
    Name(f"{_META}:PlainTensorMeta", (CAPTURES,), "inputs that are no tensor subclass"),
    *_flags("torch._C", ("_set_grad_enabled", "_is_any_autocast_enabled", "_DisableAutocast"),
            "a graph runs without autograd and autocast: both are in it already"),
    Name(f"{_META}:ViewAndMutationMeta", (TRAINING,), "what happens at a forward and at a backward pass", fields=(
        "subclass_fw_graph_out_meta", "subclass_tangent_meta", "deterministic", "num_backward_tokens",
        "indices_of_inputs_that_requires_grad_with_mutations_in_bw")),
    Name(f"{_META}:InputAliasInfo", (TRAINING,), "the same", fields=("requires_grad",)),
    Name(f"{_META}:OutputAliasInfo", (TRAINING,), "the same", fields=("requires_grad", "raw_type")),
    Name(f"{_META}:PlainTensorMeta", (TRAINING,), "how a gradient is to lie", fields=("memory_format",)),
    Name(f"{_META}:MemoryFormatMeta", (TRAINING,), "the same", fields=("size", "stride", "memory_format")),
    Name("torch._C:_FunctionBase.maybe_clear_saved_tensors", (TRAINING,), "what was saved goes before a backward pass is over"),
    Name("torch._C:_is_view_replay_enabled", (TRAINING,), "how views among a function's results are made"),
    Name("torch._C:_set_view_replay_enabled", (TRAINING,), "the same"),
    Name("torch._dynamo.compiled_autograd:compiled_autograd_enabled", (), "whether PyTorch compiles backward passes as a whole"),
    Name("torch._functorch.config:get_hash", _BOTH, "what a program sets of how AOTAutograd traces"),
    Name("torch:Tensor._is_view", (TRAINING,), "what is saved without its way to autograd"),

    # ---- PyTorch's state, and tensors ----
    Name("torch._C._dynamo.guards:GlobalStateGuard", _BOTH, "most of PyTorch's global state"),
    Name("torch._C._dynamo.guards:TensorGuards", _BOTH, "tensors' metadata, all in one call"),
    *_flags("torch._C", (
        "_len_torch_function_stack", "_len_torch_dispatch_stack", "_get_flash_sdp_enabled",
        "_get_mem_efficient_sdp_enabled", "_get_math_sdp_enabled",
        "_autograd._top_saved_tensors_default_hooks", "_functorch.maybe_current_level"),
            "the rest of the state"),
    *_flags("torch.nn.modules.module", (
        "_global_backward_pre_hooks", "_global_backward_hooks", "_global_forward_pre_hooks",
        "_global_forward_hooks", "_global_parameter_registration_hooks",
        "_global_module_registration_hooks", "_global_buffer_registration_hooks"), "the same"),
    *_flags("torch.nn", ("Module._call_impl", "Module._compiled_call_impl"),
            "what calling a module runs besides its forward"),
    Name("torch.nn:Module", _BOTH, "what a module holds besides its attributes", fields=(
        "_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
        "_backward_pre_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs")),
    Name("torch:Tensor._version", (WEIGHTS,), "whether a parameter changed in place"),
    Name("torch:Tensor._use_count", (), "whether anybody else holds what a backward pass is given"),
    Name("torch:UntypedStorage._cdata", (WEIGHTS,), "whether anybody else holds a parameter's memory"),
    *_flags("torch", ("Tensor._base", "Tensor._backward_hooks"), "what code asks of a tensor"),
    Name("torch.utils._pytree:SUPPORTED_NODES", (CAPTURES,), "which classes are taken apart"),
    Name("torch:ops.aten._to_copy", (), "an operator: the same in another type"),
    Name("torch:ops.aten._unsafe_index", (), "an operator: indexing"),
    Name("torch:ops.aten._unsafe_view", (), "an operator: the same in another shape"),
    Name("torch:ops.aten._native_batch_norm_legit_no_training", (), "an operator: batch norm by running statistics"),
    Name("torch._dynamo.trace_rules:is_callable_allowed", (CAPTURES,), "which functions of a program stay calls in graphs",
         ("obj",)),
    Name("torch._dynamo.trace_rules:is_polyfilled_callable", (CAPTURES,), "for which of them another one is traced",
         ("obj",)),
    Name("torch._library.opaque_object:is_custom_class", (), "whose objects graphs hold", ("cls",)),
    Name("torch._library.opaque_object:is_opaque_type", (CAPTURES,), "the same, where the first is not there", ("cls",)),
    *_flags("torch._C", ("_VariableFunctions", "_nn"), "which functions compute, and do nothing else"),
    Name("torch._library.custom_ops:OPDEFS.get", (), "what a custom operator gives, as a program says"),
    Name("torch._library.simple_registry:singleton.find", (), "the same"),
    Name("torch.library:_impls", _BOTH, "whether the program gave PyTorch's operators other kernels"),
    Name("torch._native.registry:_graphs", (), "the same, where PyTorch has a registry of other kernels"),
    Name("torch._C:_dispatch_dump", _BOTH, "whether such a kernel is the program's, or PyTorch's own"),
    Name("torch._C:DispatchKey", _BOTH, "through which of them calls may go"),
    Name("torch.autograd.profiler:_is_profiler_enabled", (), "whether calls are profiled"),
    Name("torch.autograd.forward_ad:_current_level", _BOTH, "which level of tangents is open"),
    Name("torch.utils._device:CURRENT_DEVICE", (CAPTURES,), "the same"),
    Name("torch._C:_dispatch_get_all_op_names", _BOTH, "which operators a namespace has"),
    Name("torch._C:_dispatch_keys", _BOTH, "what kernels a tensor goes through"),
    Name("torch.utils.hooks:RemovableHandle.next_id", _BOTH, "whether a module got a hook"),
    Name("torch:_as_tensor_fullprec", _BOTH, "a function that guards over sizes call"),
)

# Attributes that PyTorch sets, or looks for, on single objects: there is no class to find them in.
MARKS = {
    "_abstract_fn": "of a custom operator: what it gives, as a program says",
    "_autocast_cpu_dtype": "of a custom operator: the type that it gets under autocast",
    "_autocast_cuda_dtype": "the same",
    "_autocast_dtype": "the same, from PyTorch 2.15 on",
    "_boxed_call": "of a function of one list, for AOTAutograd",
    "_clone_with_backend": "of a frame callback",
    "_dynamo_dynamic_indices": "of a tensor: dims that the program marked",
    "_dynamo_marked_constant": "of a function: its result counts as constant",
    "_dynamo_static_input_type": "of a tensor: does it lie where it lies in every call?",
    "_dynamo_unbacked_indices": "of a tensor: dims that the program marked",
    "_is_buffer": "of a tensor that a module holds as one",
    "_is_param": "of a tensor that counts as a parameter",
    "_materialize_non_diff_grads": "of what autograd's function is given: are there gradients of what has none?",
    "_is_torch_compile": "of a module: torch.compile() was called with it",
    "_orig_mod": "of what torch.compile makes of a module: that module, in a state_dict too",
    "_schema": "of an operator: its arguments and results",
    "_vmap_fn": "of a custom operator: what it gives under torch.vmap",
    "_torchdynamo_orig_backend": "of a frame callback: what is below it",
    "_torchdynamo_orig_callable": "of a function that Dynamo wrapped: what is below it",
}
