import { endpoint, type Host, Type, user } from '../../core/contract/index.ts'
import { decideAgain } from '../../core/pipeline/decide-again.ts'
import { type CallerSource, type RequestParser, toCallerError } from '../../core/pipeline/inference.ts'
import type { TokenCounter } from '../../providers/shared/token-counter.ts'
import { anthropicHeaders, messagesDialect } from './dialect.ts'
import { parseCountTokensRequest } from './parse-request.ts'
import { countTokensRequestSchema } from './request-schema.ts'

const MessageTokens = Type.Object(
  { input_tokens: Type.Integer({ minimum: 0, description: 'The number of input tokens.' }) },
  { $id: 'MessageTokens', description: 'The size of a message.' },
)

/**
 * `POST /v1/messages/count_tokens`: counts the input tokens of a message that is not created. The caller's
 * rules apply as they would to the message. See docs/decisions/responses.md, "Counting input tokens passes
 * the rules".
 */
export function createCountTokensEndpoint(
  callers: CallerSource,
  host: Pick<Host, 'decide'>,
  counter: Pick<TokenCounter, 'count'>,
) {
  return endpoint({
    method: 'POST',
    path: '/v1/messages/count_tokens',
    access: user(),
    errorStyle: 'anthropic',
    tellsOwnTime: true,
    operationId: 'countMessageTokens',
    summary: 'Counts the input tokens of a message without creating it.',
    description:
      'The count of Anthropic for its models, or else of a tokenizer, converted to that of the model. ' +
      'Rules apply as they would to the message: a blocked input is 403, and masked text is counted as it ' +
      'would be sent.',
    tags: ['inference'],
    headers: anthropicHeaders,
    query: { beta: Type.Optional(Type.Boolean({ description: "Sent by Anthropic's clients. Not used." })) },
    body: countTokensRequestSchema,
    parseBody: (body) => body,
    examples: { text: { model: 'auto', messages: [{ role: 'user', content: 'Name three signals.' }] } },
    responses: { 200: { description: 'The count.', body: MessageTokens } },
    errors: [
      ...(['firewall_blocked', 'firewall_timeout', 'unsupported_parameter', 'model_not_found'] as const),
      ...(['no_providers_available', 'refused'] as const),
    ],
    async handle(call) {
      const parser = { parseRequest: parse }
      const caller = callers.snapshot(call.account)
      const { exchange, error } = await decideAgain(parser, call.body, call, caller, host)
      if (error) throw toCallerError(error, messagesDialect, exchange, () => call.body)
      return { status: 200, body: { input_tokens: await counter.count(exchange) } }
    },
  })
}

const parse: RequestParser['parseRequest'] = (body, { headers }) => parseCountTokensRequest(body, headers)
