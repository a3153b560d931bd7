import { hkdfSync } from 'node:crypto'
import type { JsonObject } from '../contract/index.ts'
import { decryptText, encryptText } from './encrypt-text.ts'
import type { SecretFile } from './secret-file.ts'

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
      return encryptText(deriveKey(secret.readOrCreate()), JSON.stringify(value), context).toString(
        'base64url',
      )
    },
    open(sealed, context = '') {
      const known = secret.read()
      if (known === undefined) return undefined
      try {
        return JSON.parse(decryptText(deriveKey(known), Buffer.from(sealed, 'base64url'), context))
      } catch {
        return undefined
      }
    },
  }
}
