import { type PromptCipher, PromptKeyError } from './prompt-cipher.ts'
import type { StoredPrompt } from './queries.ts'
import type { LedgerRecord, PromptContent } from './record.ts'
import type { PromptRow } from './tables.ts'

/** Returns the row of a prompt that is recorded, or of the reason why it is not. */
export function toPromptRow(
  { requestId, userId, prompt }: LedgerRecord,
  id: number,
  cipher: PromptCipher | undefined,
): PromptRow | undefined {
  if (prompt === null) return undefined
  const { mode, content, omission } = prompt
  const row = { id, user_id: userId, mode, omission, key_id: null, data: null }
  if (content === null) return row
  // The settings of a worker may be newer than those of the primary.
  if (cipher === undefined) return { ...row, omission: 'no_key' }
  const { keyId, data } = cipher.encrypt(JSON.stringify(content), { requestId, userId })
  return { ...row, key_id: keyId, data }
}

/** Returns the content of a row, or why it cannot be decrypted. */
export function decryptPrompt(
  { user_id: userId, key_id: keyId, data }: PromptRow,
  cipher: PromptCipher | undefined,
  requestId: string,
): Pick<StoredPrompt, 'content' | 'unreadable'> {
  if (keyId === null || data === null) return { content: null }
  if (cipher === undefined) return { content: null, unreadable: 'RECORD_KEY is not set' }
  try {
    // Only `toPromptRow` encrypts with these keys.
    return { content: JSON.parse(cipher.decrypt({ keyId, data }, { requestId, userId })) as PromptContent }
  } catch (error) {
    if (!(error instanceof PromptKeyError)) throw error
    return { content: null, unreadable: error.message }
  }
}
