import { type JsonObject, Nullable, StringEnum, Type } from '../../contract/index.ts'
import { AnyObject, NullableBoolean, NullableText, OpenObject, Text, Variants } from '../schema-types.ts'

// The tools of the Responses API, in requests and in responses.

const FunctionTool = OpenObject(
  {
    type: Type.Literal('function', { description: 'Always function.' }),
    name: Type.String({ minLength: 1, description: 'Name of the function.' }),
    description: Type.Optional(NullableText('What it does.')),
    parameters: Type.Optional(
      Nullable(AnyObject('JSON Schema of the arguments.'), { description: 'JSON Schema of the arguments.' }),
    ),
    strict: Type.Optional(NullableBoolean('Arguments always match the schema.')),
  },
  { $id: 'FunctionTool', description: 'A function that the model may call.' },
)

const InputFormat = Variants(
  'type',
  [
    OpenObject(
      { type: Type.Literal('text', { description: 'Always text.' }) },
      { $id: 'TextInput', description: 'Any text.' },
    ),
    OpenObject(
      {
        type: Type.Literal('grammar', { description: 'Always grammar.' }),
        syntax: StringEnum(['lark', 'regex'], { description: 'What the grammar is written in.' }),
        definition: Text('The grammar.'),
      },
      { $id: 'GrammarInput', description: 'Text that matches a grammar, which models read.' },
    ),
  ],
  { isClosed: true, $id: 'CustomToolInput', description: 'Form of the input.' },
)

export const CustomTool = OpenObject(
  {
    type: Type.Literal('custom', { description: 'Always custom.' }),
    name: Type.String({ minLength: 1, description: 'Name of the tool.' }),
    description: Type.Optional(Text('What it does.')),
    format: Type.Optional(InputFormat),
  },
  { $id: 'CustomTool', description: 'A tool whose input is any text.' },
)

const namespaceFields = {
  type: Type.Literal('namespace', { description: 'Always namespace.' }),
  name: Type.String({ minLength: 1, description: 'Name of the namespace.' }),
  tools: Type.Array(Variants('type', [FunctionTool, CustomTool]), {
    description: 'Functions and custom tools.',
  }),
}

const NamespaceTool = OpenObject(
  { ...namespaceFields, description: Type.Optional(NullableText('What its tools are for.')) },
  { $id: 'NamespaceTool', description: 'Tools under a common name.' },
)

/** A namespace as responses repeat it. */
export const ListedNamespace = OpenObject(
  { ...namespaceFields, description: Text('What its tools are for.') },
  { $id: 'ListedNamespace', description: 'Tools under a common name.' },
)

export const SearchTool = OpenObject(
  {
    type: Type.Literal('tool_search', { description: 'Always tool_search.' }),
    execution: Type.Optional(
      StringEnum(['client', 'server'], {
        description: 'Who searches. Models get a search of the client only.',
      }),
    ),
    description: Type.Optional(NullableText('What it finds.')),
    parameters: Type.Optional(
      Nullable(AnyObject('JSON Schema of the arguments.'), { description: 'JSON Schema of the arguments.' }),
    ),
  },
  { $id: 'ToolSearch', description: 'A search for tools that the request does not list.' },
)

/** `{type:"function", name, parameters}`. Chat completions nest these fields in `function`. */
export interface FlatTool extends JsonObject {
  readonly type: string
}

export const ToolSchema = Type.Unsafe<FlatTool>(
  Variants('type', [FunctionTool, CustomTool, NamespaceTool, SearchTool], {
    $id: 'Tool',
    description: 'A tool that the model may call.',
  }),
)
