import { type EndedExchange, isJsonObject } from '../../core/contract/index.ts'
import { countChars } from '../../core/text/count-chars.ts'
import { withoutMedia } from '../../core/text/without-media.ts'
import type { PromptContent, PromptOmission, RecordedPrompt } from './store/record.ts'

export type RecordPrompts = 'off' | 'masked' | 'full'

export interface PromptSettings {
  readonly recordPrompts: RecordPrompts
  /** Longer prompts are not recorded. */
  readonly maxPromptChars: number
}

/**
 * Returns what is recorded of the prompt of a request. `isMasked`: all its text has passed the firewall. See
 * docs/decisions/prompt-recording.md, "Masked means that nothing unmasked is kept".
 */
export function toRecordedPrompt(
  exchange: EndedExchange,
  isMasked: boolean,
  { recordPrompts, maxPromptChars }: PromptSettings,
): RecordedPrompt | null {
  if (recordPrompts === 'off') return null
  const omit = (omission: PromptOmission) => omitPrompt(recordPrompts, omission)
  if (recordPrompts === 'masked' && !isMasked) return omit('refused')
  const source = recordPrompts === 'full' ? exchange.received : exchange.request
  const leftOut: PromptContent['leftOut'][number][] = []
  let request = withoutMedia(source)
  if (request !== source) leftOut.push('media')
  // The firewall does not inspect metadata that is not sent to a provider.
  if (recordPrompts === 'masked' && isJsonObject(request.metadata) && request.store !== true) {
    const { metadata, ...rest } = request
    request = rest as typeof request
    leftOut.push('metadata')
  }
  const chars = countChars(request, maxPromptChars)
  if (chars > maxPromptChars) return omit('too_long')
  const { preferences, defaulted } = exchange
  return { mode: recordPrompts, content: { request, preferences, defaulted, leftOut }, omission: null, chars }
}

/** Returns the record of a prompt that is not recorded. */
export function omitPrompt(mode: RecordedPrompt['mode'], omission: PromptOmission): RecordedPrompt {
  return { mode, content: null, omission, chars: 0 }
}
