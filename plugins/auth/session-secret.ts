import { createSecretFile, type SecretFile } from '../../core/secrets/secret-file.ts'

/** The secret that signs session cookies, created by the first sign-in. */
export type SessionSecret = SecretFile

export function createSessionSecret(dataDir: string): SessionSecret {
  return createSecretFile(dataDir, 'console-sessions.key', 'everybody must sign in again.')
}
