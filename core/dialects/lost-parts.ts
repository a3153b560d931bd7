import type { RepliedExchange, ReplyPart } from '../contract/index.ts'
import { parseDataUrl } from '../text/data-url.ts'

type Warned = Pick<RepliedExchange, 'warnings' | 'target'>

/** Warns the caller of a part of the reply if no endpoint but that of its provider's format can carry it. */
export function warnOfLostPart(exchange: Warned, part: ReplyPart): void {
  const name = nameOfLost(part)
  if (name !== undefined) warnOfLost(exchange, name)
}

/** Warns the caller that the reply holds something that the endpoint cannot carry. */
function warnOfLost({ warnings, target }: Warned, name: string): void {
  const model = target?.model ?? 'the model'
  const message = `The reply of ${model} holds ${name}, which this endpoint cannot carry.`
  if (warnings.some((warning) => warning.message === message)) return
  warnings.push({ code: 'reply', message, scope: 'response' })
}

function nameOfLost(part: ReplyPart): string | undefined {
  if (part.type === 'unread') return part.name
  if (part.type !== 'extra' || part.place !== 'block') return undefined
  const type = part.content.anthropic?.type
  return type === undefined || type === 'redacted_thinking' ? undefined : String(type)
}

type Image = Extract<ReplyPart, { readonly type: 'image' }>

/**
 * Returns the text in place of an image, for endpoints whose replies have no images. Base64 is not part of
 * it: clients send replies back, and models would read it as text.
 */
export function toImageText(exchange: Warned, { url }: Image): string {
  const data = parseDataUrl(url)
  if (data === undefined) return `![image](${url})`
  warnOfLost(exchange, `an image (${data.mediaType})`)
  return `[The model replied with an image (${data.mediaType}), which this endpoint cannot carry.]`
}
