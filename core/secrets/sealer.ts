import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { JsonObject } from '../contract/index.ts'
import type { SecretFile } from './secret-file.ts'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts values that others keep for the gateway: browsers in cookies, and the shared state. */
export interface Sealer {
  /** `context`: what the value belongs to. It must be given again to open it. */
  seal(value: JsonObject, context?: string): string
  /** Returns undefined for what was not sealed with the same secret, for the same purpose and context. */
  open(sealed: string, context?: string): JsonObject | undefined
}

/** All processes that have the secret open each other's values of the same purpose. */
export function createSealer(secret: SecretFile, purpose: string): Sealer {
  let key: Buffer | undefined

  function deriveKey(bytes: Buffer): Buffer {
    key ??= Buffer.from(hkdfSync('sha256', bytes, '', purpose, 32))
    return key
  }

  return {
    seal(value, context = '') {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, deriveKey(secret.readOrCreate()), nonce)
      cipher.setAAD(Buffer.from(context))
      const sealed = [nonce, cipher.update(JSON.stringify(value)), cipher.final(), cipher.getAuthTag()]
      return Buffer.concat(sealed).toString('base64url')
    },
    open(sealed, context = '') {
      const bytes = Buffer.from(sealed, 'base64url')
      const known = secret.read()
      if (known === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
      const tag = bytes.subarray(-TAG_BYTES)
      const options = { authTagLength: TAG_BYTES }
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const decipher = createDecipheriv(ALGORITHM, deriveKey(known), nonce, options)
      decipher.setAAD(Buffer.from(context)).setAuthTag(tag)
      try {
        const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
        return JSON.parse(Buffer.concat([text, decipher.final()]).toString())
      } catch {
        return undefined
      }
    },
  }
}
