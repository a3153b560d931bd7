import { MODE_SPELLINGS, StringEnum, Type } from '../../contract/index.ts'
import { chatToolSchema } from '../chat/request-schema.ts'
import { OpenObject, Text } from '../schema-types.ts'

/** The body of `POST /route` (docs/api.md, "Direct routing"). Unknown fields are ignored. */
export const routeRequestSchema = Type.Object(
  {
    prompt: Type.String({ minLength: 1, description: 'The text of the user.' }),
    model_preferences: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), { description: 'Models to try first, best first.' }),
    ),
    temperature: Type.Optional(
      Type.Number({ minimum: 0, maximum: 2, default: 0.7, description: 'Randomness.' }),
    ),
    max_tokens: Type.Optional(
      Type.Integer({ minimum: 1, default: 1000, description: 'Maximum length of the reply, in tokens.' }),
    ),
    tools: Type.Optional(Type.Array(chatToolSchema, { description: 'Tools that the model may call.' })),
    tool_choice: Type.Optional(
      Type.String({ minLength: 1, description: 'auto, none, required, or the name of a function.' }),
    ),
    response_format: Type.Optional(
      OpenObject({ type: Text('The format, such as json_object.') }, { description: 'Format of the reply.' }),
    ),
    user_id: Type.Optional(Text('An id of your user.')),
    cost_priority: Type.Optional(
      StringEnum(MODE_SPELLINGS, { default: 'balanced', description: 'What to optimize.' }),
    ),
  },
  { $id: 'RouteRequest', description: 'A request of direct routing.' },
)
