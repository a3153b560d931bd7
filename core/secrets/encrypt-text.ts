import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a text with a key of 32 bytes: nonce, authentication tag and ciphertext. `context`: what it
 * belongs to. It must be given again to decrypt it.
 */
export function encryptText(key: Uint8Array, text: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context))
  const encrypted = [cipher.update(text, 'utf8'), cipher.final()]
  return Buffer.concat([nonce, cipher.getAuthTag(), ...encrypted])
}

/** Throws for what was not encrypted with this key for this context. */
export function decryptText(key: Uint8Array, data: Buffer, context: string): string {
  const decipher = createDecipheriv(ALGORITHM, key, data.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(context)).setAuthTag(data.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const start = decipher.update(data.subarray(NONCE_BYTES + TAG_BYTES))
  return Buffer.concat([start, decipher.final()]).toString('utf8')
}
