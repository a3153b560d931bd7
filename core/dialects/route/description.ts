import { type InferenceDescription, Type } from '../../contract/index.ts'
import { completionFields, ResponseMetadata, SignalboxSchema } from '../chat/response-schemas.ts'
import { inferenceHeaders, replyHeaders } from '../inference-description.ts'
import { OpenObject, Text } from '../schema-types.ts'
import { routeRequestSchema } from './request-schema.ts'

const RouterMeta = OpenObject(
  {
    selected_provider: Text('The provider that answered.'),
    selected_model: Text('The model that answered.'),
    routing_reason: Text('Why the model was selected.'),
    cost_savings: Type.String({
      pattern: '%$',
      description: 'Percentage saved against the most expensive option, such as 87.5%.',
    }),
    response_time_ms: Type.Integer({ minimum: 0, description: 'Total response time, in milliseconds.' }),
    estimated_cost: Type.Number({ minimum: 0, description: 'Estimated cost in USD.' }),
    routing_score: Type.Number({ minimum: 0, maximum: 1, description: 'Confidence, from 0 to 1.' }),
  },
  { $id: 'RouterMeta', description: 'How the model was selected.' },
)

const RouteResult = OpenObject(
  {
    id: Type.String({ pattern: '^tr_req_', description: 'Id of the result.' }),
    object: Type.Literal('chat.completion', { description: 'Always chat.completion.' }),
    ...completionFields,
    router_meta: RouterMeta,
    metadata: ResponseMetadata,
    signalbox: SignalboxSchema,
  },
  { $id: 'RouteResult', description: 'A reply of direct routing.' },
)

const prompt = 'Write a haiku about railways.'

/** How `/openapi.json` describes `POST /route`. */
export const routeDescription: InferenceDescription = {
  operationId: 'route',
  summary: 'Answers a prompt with the best matching model; served on the direct routing address.',
  tags: ['inference'],
  headers: inferenceHeaders,
  body: routeRequestSchema,
  examples: {
    automatic: { prompt, cost_priority: 'cost' },
    preferred: { prompt, model_preferences: ['gpt-4o', 'mistral-large-latest'], max_tokens: 50 },
  },
  responses: { 200: { description: 'The reply.', headers: replyHeaders, body: RouteResult } },
}
