import { endpoint, type Host, type JsonObject, Nullable, Type, user } from '../../core/contract/index.ts'
import { OpenObject } from '../../core/dialects/schema-types.ts'
import { decideAgain } from '../../core/pipeline/decide-again.ts'
import type { CallerSource } from '../../core/pipeline/inference.ts'
import { responsesRequestSchema } from '../../providers/shared/responses-format/request-schema.ts'
import type { TokenCounter } from '../../providers/shared/token-counter.ts'
import { createResponsesParser } from './dialect.ts'
import type { ResponseStore } from './store.ts'

const { input, ...otherFields } = responsesRequestSchema.properties

const InputTokensRequest = OpenObject(
  { ...otherFields, input: Type.Optional(Nullable(input, { description: input.description })) },
  { $id: 'InputTokensRequest', description: 'A request for a response, whose input is optional.' },
)

const InputTokens = Type.Object(
  {
    object: Type.Literal('response.input_tokens', { description: 'Always response.input_tokens.' }),
    input_tokens: Type.Integer({ minimum: 0, description: 'The number of input tokens.' }),
  },
  { $id: 'InputTokens', description: 'The size of an input.' },
)

/**
 * `POST /v1/responses/input_tokens`: counts the input tokens of a response that is not created. The
 * caller's rules apply as they would to the response. See docs/decisions/responses.md, "Counting input tokens
 * passes the rules".
 */
export function createInputTokensEndpoint(
  store: Pick<ResponseStore, 'find'>,
  callers: CallerSource,
  host: Pick<Host, 'decide'>,
  counter: Pick<TokenCounter, 'count'>,
) {
  const parser = createResponsesParser(store.find)
  return endpoint({
    method: 'POST',
    path: '/v1/responses/input_tokens',
    access: user(),
    errorStyle: 'openai',
    tellsOwnTime: true,
    operationId: 'countInputTokens',
    summary: 'Counts the input tokens of a response without creating it.',
    description:
      'The count of Anthropic for its models, or else of a tokenizer, converted to that of the model. ' +
      'Rules apply as they would to the response: a blocked input is 403, and masked text is counted as it ' +
      'would be sent.',
    tags: ['responses'],
    body: InputTokensRequest,
    examples: { text: { input: 'Name three signals of a railway.' } },
    responses: { 200: { description: 'The count.', body: InputTokens } },
    errors: [
      ...(['firewall_blocked', 'firewall_timeout', 'unsupported_parameter', 'model_not_found'] as const),
      ...(['no_providers_available', 'refused', 'responses_unavailable'] as const),
    ],
    async handle(call) {
      const body: JsonObject = { ...call.body, input: call.body.input ?? '' }
      const caller = callers.snapshot(call.account)
      const { exchange, error } = await decideAgain(parser, body, call, caller, host)
      if (error) throw error
      const input_tokens = await counter.count(exchange)
      return { status: 200, body: { object: 'response.input_tokens', input_tokens } }
    },
  })
}
