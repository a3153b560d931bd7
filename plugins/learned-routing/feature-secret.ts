import { createHash, createHmac } from 'node:crypto'
import { createSecretFile } from '../../core/util/secret-file.ts'

/**
 * The secret that words of prompts are hashed with, so that they cannot be looked up. It is in no event and
 * no export. See docs/decisions/routing.md, "The key of the features is not in the log".
 */
export interface FeatureSecret {
  /** Creates the secret of the data folder if there is none. */
  read(): Buffer
  /** Identifies the secret without revealing it. Versions and features belong to one secret. */
  id(): string
}

export function createFeatureSecret(dataDir: string, configured: string | null | undefined): FeatureSecret {
  const consequence = 'feedback must be collected again, and versions of the router trained again.'
  const file = createSecretFile(dataDir, 'prompt-features.key', consequence)
  const own = configured ? createHash('sha256').update(configured).digest() : undefined
  const read = () => own ?? file.readOrCreate()
  return {
    read,
    id: () => createHmac('sha256', read()).update('id of the features key').digest('hex').slice(0, 16),
  }
}
