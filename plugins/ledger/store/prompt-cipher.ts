import { decryptText, encryptText } from '../../../core/secrets/encrypt-text.ts'
import { type EncryptionKey, fingerprintOf } from '../../../core/secrets/encryption-keys.ts'
import type { StoredPrompt } from './queries.ts'
import type { LedgerRecord, PromptContent } from './record.ts'
import type { PromptRow } from './tables.ts'

/** What a ciphertext belongs to. It cannot be decrypted as that of another request or user. */
export interface PromptOwner {
  readonly requestId: string
  readonly userId: number
}

export interface EncryptedText {
  readonly keyId: string
  /** Nonce, authentication tag and ciphertext. */
  readonly data: Buffer
}

export interface PromptCipher {
  encrypt(text: string, owner: PromptOwner): EncryptedText
  /** Throws a `PromptKeyError` if no key decrypts it. */
  decrypt(encrypted: EncryptedText, owner: PromptOwner): string
}

/** A recorded prompt cannot be decrypted. The message completes "the prompt cannot be decrypted: …". */
export class PromptKeyError extends Error {}

/** Encrypts with the first key, and decrypts with all. Undefined without keys. */
export function createPromptCipher(keys: readonly EncryptionKey[]): PromptCipher | undefined {
  const [current] = keys
  if (current === undefined) return undefined
  const byId = new Map(keys.map(({ key }) => [fingerprintOf(key), key]))
  for (const { id, key } of keys) byId.set(id, key)
  return {
    encrypt(text, owner) {
      return { keyId: current.id, data: encryptText(current.key, text, contextOf(owner)) }
    },
    decrypt({ keyId, data }, owner) {
      const key = byId.get(keyId)
      if (key === undefined) throw new PromptKeyError(`RECORD_KEY does not have the key "${keyId}"`)
      try {
        return decryptText(key, data, contextOf(owner))
      } catch {
        throw new PromptKeyError(`the key "${keyId}" is another one by now, or the record was changed`)
      }
    },
  }
}

function contextOf({ requestId, userId }: PromptOwner): string {
  return `signalbox prompt\n${requestId}\n${userId}`
}

/** Returns the row of a prompt that is recorded, or of the reason why it is not. */
export function toPromptRow(
  { requestId, userId, prompt }: Pick<LedgerRecord, 'requestId' | 'userId' | 'prompt'>,
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
