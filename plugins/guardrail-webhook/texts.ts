import type { ChatRequest } from '../../core/contract/index.ts'
import { mapRequest } from '../../core/text/map-request.ts'
import { inspectedValues } from '../../core/text/request-texts.ts'

/** A text that the guardrail sees and can replace. */
export interface GuardrailText {
  readonly index: number
  /** The role of its message; null outside of messages, such as in descriptions of tools. */
  readonly role: string | null
  readonly text: string
}

/** The texts of a request, numbered: every inspected value, once per message. */
export function collectGuardrailTexts(request: ChatRequest): readonly GuardrailText[] {
  const texts = sectionsOf(request).flatMap(({ role, section }) =>
    [...new Set(inspectedValues(section))].map((text) => ({ role, text })),
  )
  return texts.map(({ role, text }, index) => ({ index, role, text }))
}

/**
 * Returns the request with the texts replaced, wherever they stand in their message; undefined if one of them
 * cannot be replaced.
 */
export function replaceGuardrailTexts(
  request: ChatRequest,
  replacements: ReadonlyMap<number, string>,
): ChatRequest | undefined {
  let count = 0
  let isRefused = false
  const [rest, ...messages] = sectionsOf(request).map(({ section }) => {
    const bySource = new Map<string, string>()
    for (const text of new Set(inspectedValues(section))) {
      const replacement = replacements.get(count++)
      if (replacement !== undefined) bySource.set(text, replacement)
    }
    return mapRequest(section, {
      rewrite: (text) => bySource.get(text) ?? text,
      refuse() {
        isRefused = true
      },
    })
  })
  if (isRefused) return undefined
  return { ...rest, messages: messages.flatMap((section) => section.messages) }
}

/** The request without its messages, and each of its messages. */
function sectionsOf(
  request: ChatRequest,
): readonly { readonly role: string | null; readonly section: ChatRequest }[] {
  return [
    { role: null, section: { ...request, messages: [] } },
    ...request.messages.map((message) => ({ role: message.role, section: { messages: [message] } })),
  ]
}
