import type { ChatRequest } from '../../core/contract/index.ts'
import { mapRequest, rewriteLongDocuments } from '../../core/inspection/map-request.ts'
import { inspectedValues } from '../../core/inspection/request-texts.ts'

/** A text that the guardrail sees and can replace. */
export interface GuardrailText {
  readonly index: number
  /** The role of its message; null outside of messages, such as in descriptions of tools. */
  readonly role: string | null
  readonly text: string
}

/** The texts of a request, numbered: every inspected value, once per message. */
export async function collectGuardrailTexts(request: ChatRequest): Promise<readonly GuardrailText[]> {
  const texts: Omit<GuardrailText, 'index'>[] = []
  for (const { role, section } of sectionsOf(request))
    for (const text of new Set(await inspectedValues(section))) texts.push({ role, text })
  return texts.map(({ role, text }, index) => ({ index, role, text }))
}

/**
 * Returns the request with the texts replaced, wherever they stand in their message; undefined if one of them
 * cannot be replaced.
 */
export async function replaceGuardrailTexts(
  request: ChatRequest,
  replacements: ReadonlyMap<number, string>,
): Promise<ChatRequest | undefined> {
  let count = 0
  let isRefused = false
  const replaced: ChatRequest[] = []
  for (const { section } of sectionsOf(request)) {
    const bySource = new Map<string, string>()
    for (const text of new Set(await inspectedValues(section))) {
      const replacement = replacements.get(count++)
      if (replacement !== undefined) bySource.set(text, replacement)
    }
    const rewrite = (text: string) => bySource.get(text) ?? text
    const refuse = () => {
      isRefused = true
    }
    const rewrittenDocuments = await rewriteLongDocuments(section, rewrite)
    replaced.push(mapRequest(section, { rewrite, refuse, rewrittenDocuments }))
  }
  if (isRefused) return undefined
  const [rest, ...messages] = replaced
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
