import { GatewayError, Type } from '../contract/index.ts'

export const MAX_REASON_LENGTH = 500

/**
 * Parses the header `x-change-reason`. Throws 400 if it is empty, too long, or has control characters. Node
 * decodes headers as Latin-1, while clients send UTF-8.
 */
export function parseChangeReason(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const reason = decodeUtf8(String(header)).trim()
  const length = [...reason].length
  if (length > 0 && length <= MAX_REASON_LENGTH && !/\p{Cc}/u.test(reason)) return reason
  const message = `x-change-reason must have 1 to ${MAX_REASON_LENGTH} characters and no control characters.`
  throw new GatewayError('invalid_value', message, { param: 'x-change-reason' })
}

/** Returns the text unchanged if its bytes are not UTF-8. */
function decodeUtf8(latin1: string): string {
  const bytes = Buffer.from(latin1, 'latin1')
  const text = bytes.toString('utf8')
  return text.includes('\ufffd') ? latin1 : text
}

/** Describes the header of endpoints that change something. */
export const changeReasonHeader = {
  'x-change-reason': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_REASON_LENGTH,
      description: 'Why the change is made. Stored with it, and shown in its history and in the audit trail.',
      examples: ['Ticket 4711: contracts must not leave the EU.'],
    }),
  ),
}
