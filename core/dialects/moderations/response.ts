import { GatewayError, isJsonObject, type JsonObject, type RepliedExchange } from '../../contract/index.ts'
import { relatedId } from '../../util/ids.ts'

/** OpenAI's categories, which its clients require, with those of Mistral that mean the same. */
export const CATEGORIES: Readonly<Record<string, string | undefined>> = {
  harassment: undefined,
  'harassment/threatening': undefined,
  hate: 'hate_and_discrimination',
  'hate/threatening': undefined,
  illicit: 'dangerous_and_criminal_content',
  'illicit/violent': undefined,
  'self-harm': 'selfharm',
  'self-harm/intent': undefined,
  'self-harm/instructions': undefined,
  sexual: undefined,
  'sexual/minors': undefined,
  violence: 'violence_and_threats',
  'violence/graphic': undefined,
}

/** Builds the judgement of texts in OpenAI's format, in their order, with the extension fields. */
export function buildModeration(exchange: RepliedExchange): JsonObject {
  const { reply, target, decoration, id } = exchange
  if (reply.type !== 'whole') throw new GatewayError('internal_error', 'The exchange has no whole reply.')
  const { parts } = reply.event
  const results = parts.flatMap((part) => (part.type === 'moderation' ? [toResult(part.result)] : []))
  if (results.length === 0)
    throw new GatewayError('internal_error', 'A plugin answered the request without a judgement.')
  const start = parts.find((part) => part.type === 'start')
  const model = start?.model || (target?.model ?? '')
  return { id: relatedId('modr-', id), model, results, ...decoration?.last() }
}

function toResult(result: JsonObject): JsonObject {
  const categories = toObject(result.categories)
  const scores = toObject(result.category_scores)
  const isFlagged = Object.values(categories).some((value) => value === true)
  return {
    ...result,
    flagged: result.flagged ?? isFlagged,
    categories: { ...complete(categories, false), ...categories },
    category_scores: { ...complete(scores, 0), ...scores },
    category_applied_input_types: result.category_applied_input_types ?? complete({}, ['text']),
  }
}

/** A category that the provider does not have gets `missing`. */
function complete(values: JsonObject, missing: unknown): JsonObject {
  const entries = Object.entries(CATEGORIES).map(([name, other]) => {
    return [name, values[name] ?? (other === undefined ? undefined : values[other]) ?? missing]
  })
  return Object.fromEntries(entries)
}

function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}
