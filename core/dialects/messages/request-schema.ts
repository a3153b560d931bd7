import { Nullable, type Static, StringEnum, Type } from '../../contract/index.ts'
import { AnyObject, ModelName, NullableBoolean, OpenObject, Text } from '../schema-types.ts'
import { MessageInput, SystemPrompt } from './content-schemas.ts'

const ToolInput = OpenObject(
  {
    name: Type.Optional(Text('Name of the tool.')),
    type: Type.Optional(
      Nullable(Type.String(), { description: 'custom, or a tool that Anthropic provides.' }),
    ),
    description: Type.Optional(Nullable(Type.String(), { description: 'What the tool does.' })),
    input_schema: Type.Optional(
      Nullable(AnyObject('A JSON Schema'), { description: 'JSON Schema of the arguments.' }),
    ),
    strict: Type.Optional(NullableBoolean('Arguments always match the schema.')),
  },
  { $id: 'MessageTool', description: 'A tool that the model may call.' },
)

const ToolChoiceInput = OpenObject(
  {
    type: StringEnum(['auto', 'any', 'tool', 'none'], { description: 'Whether tools are called.' }),
    name: Type.Optional(Text('The tool to call, if type is tool.')),
    disable_parallel_tool_use: Type.Optional(NullableBoolean('At most one call.')),
  },
  { $id: 'MessageToolChoice', description: 'Which tools the model calls.' },
)

const Thinking = OpenObject(
  {
    type: Text('enabled, disabled, adaptive or between_tools.'),
    budget_tokens: Type.Optional(Type.Integer({ minimum: 0, description: 'Tokens of thinking.' })),
  },
  { $id: 'MessageThinkingConfig', description: 'Whether and how the model thinks.' },
)

const OutputConfig = OpenObject(
  {
    effort: Type.Optional(Nullable(Type.String(), { description: 'How thoroughly the model works.' })),
    format: Type.Optional(
      Nullable(
        OpenObject(
          {
            type: Text('Always json_schema.'),
            schema: Type.Optional(AnyObject('JSON Schema of the reply.')),
          },
          { $id: 'MessageOutputFormat', description: 'Format of the reply.' },
        ),
        { description: 'Format of the reply.' },
      ),
    ),
  },
  { $id: 'MessageOutputConfig', description: 'Effort and format of the reply.' },
)

const fields = {
  model: Type.Optional(Nullable(ModelName, { description: ModelName.description })),
  messages: Type.Array(MessageInput, { minItems: 1, description: 'The conversation so far.' }),
  system: Type.Optional(SystemPrompt),
  tools: Type.Optional(Nullable(Type.Array(ToolInput), { description: 'Tools that the model may call.' })),
  tool_choice: Type.Optional(Nullable(ToolChoiceInput, { description: 'Which tools the model calls.' })),
  thinking: Type.Optional(Nullable(Thinking, { description: 'Whether and how the model thinks.' })),
  output_config: Type.Optional(Nullable(OutputConfig, { description: 'Effort and format of the reply.' })),
  stop_sequences: Type.Optional(
    Nullable(Type.Array(Type.String()), { description: 'Texts that end the reply.' }),
  ),
  temperature: Type.Optional(
    Nullable(Type.Number({ minimum: 0, maximum: 1 }), { description: 'Randomness.' }),
  ),
  top_p: Type.Optional(
    Nullable(Type.Number({ minimum: 0, maximum: 1 }), {
      description: 'Share of the probability mass that is sampled from.',
    }),
  ),
  top_k: Type.Optional(Nullable(Type.Integer({ minimum: 0 }), { description: 'Tokens to sample from.' })),
  metadata: Type.Optional(
    Nullable(
      OpenObject({ user_id: Type.Optional(Nullable(Type.String(), { description: 'An id of your user.' })) }),
      { description: 'Metadata for routing rules. Anthropic receives it, too.' },
    ),
  ),
  service_tier: Type.Optional(Text("Anthropic's service tier: auto or standard_only.")),
  cache_control: Type.Optional(
    Nullable(AnyObject('Caching'), { description: 'Caches the prompt up to its last block, at Anthropic.' }),
  ),
  stream: Type.Optional(NullableBoolean('Streams the reply as events.')),
  thread: Type.Optional(
    Nullable(AnyObject('A thread'), {
      description: 'A conversation that Anthropic holds. Refused: send the whole conversation instead.',
    }),
  ),
}

/** The body of `POST /v1/messages` (docs/api.md, "Messages"). Unknown fields are passed on to Anthropic. */
export const messagesRequestSchema = OpenObject(
  {
    ...fields,
    max_tokens: Type.Integer({ minimum: 0, description: 'Maximum length of the reply, in tokens.' }),
  },
  { $id: 'MessageRequest', description: "A request in the format of Anthropic's Messages API." },
)

/** The body of `POST /v1/messages/count_tokens`. */
export const countTokensRequestSchema = OpenObject(
  {
    ...fields,
    max_tokens: Type.Optional(
      Nullable(Type.Integer({ minimum: 0 }), { description: 'Not used: nothing is generated.' }),
    ),
  },
  { $id: 'CountTokensRequest', description: 'A message whose input tokens are counted.' },
)

/** A validated body of either endpoint. */
export type MessagesBody = Static<typeof countTokensRequestSchema>
