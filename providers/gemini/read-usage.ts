import { isJsonObject } from '../../core/contract/json.ts'
import type { Usage } from '../../core/contract/reply.ts'
import { readNumber } from '../read-fields.ts'

/** Token counts, as in `usageMetadata`: thoughts are not among the candidates' tokens, and zeros are left out. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const cached = readNumber(value.cachedContentTokenCount)
  const reasoning = readNumber(value.thoughtsTokenCount)
  return {
    input: (readNumber(value.promptTokenCount) ?? 0) + (readNumber(value.toolUsePromptTokenCount) ?? 0),
    output: (readNumber(value.candidatesTokenCount) ?? 0) + (reasoning ?? 0),
    ...(cached !== undefined && { cached }),
    ...(reasoning !== undefined && { reasoning }),
  }
}
