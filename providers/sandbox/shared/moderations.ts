import type { JsonObject } from '../../../core/contract/index.ts'
import { parseOperationRequest, toOperationCall } from './operations.ts'
import type { ChatCall } from './wire-format.ts'

/** OpenAI's categories. */
const OPENAI_CATEGORIES: readonly string[] = [
  ...['harassment', 'harassment/threatening', 'hate', 'hate/threatening', 'illicit', 'illicit/violent'],
  ...['self-harm', 'self-harm/intent', 'self-harm/instructions', 'sexual', 'sexual/minors'],
  ...['violence', 'violence/graphic'],
]

/** Mistral's categories. */
const MISTRAL_CATEGORIES: readonly string[] = [
  ...['sexual', 'hate_and_discrimination', 'violence_and_threats', 'dangerous_and_criminal_content'],
  ...['selfharm', 'health', 'financial', 'law', 'pii'],
]

/** Judges texts: those with the word "kill" are violent. Mistral's answer has no `flagged`, but a usage. */
export function parseModeration(body: unknown, format: 'openai' | 'mistral'): ChatCall {
  const request = parseOperationRequest(body)
  const names = format === 'openai' ? OPENAI_CATEGORIES : MISTRAL_CATEGORIES
  const results = request.texts.map((text) => {
    const isViolent = /\bkill\b/i.test(text)
    const judge = (hit: unknown, miss: unknown): JsonObject =>
      Object.fromEntries(names.map((name) => [name, isViolent && name.startsWith('violence') ? hit : miss]))
    return {
      ...(format === 'openai' && { flagged: isViolent, category_applied_input_types: judge(['text'], []) }),
      categories: judge(true, false),
      category_scores: judge(0.98, 0.01),
    }
  })
  const usage = { prompt_tokens: request.tokens, completion_tokens: 0, total_tokens: request.tokens }
  const answer = { id: 'modr-1', model: request.model, results, ...(format === 'mistral' && { usage }) }
  return toOperationCall(request, answer)
}
