import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, copyFile, link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  formatVerifierKey,
  isSignedBy,
  parseVerifierKey,
  rawPublicKey,
  type SignedCheckpoint,
  type VerifierKey,
} from './checkpoint.ts'

const PRIVATE_KEY_FILE = 'checkpoints.pem'

/**
 * The key that signs checkpoints. See docs/decisions/evidence.md, "Every data folder has a key of its own".
 */
export interface SigningKey extends VerifierKey {
  readonly privateKey: KeyObject
}

/**
 * Reads the signing key in the folder, or creates it. Processes that do so at once return the same key. Who
 * signs with it must add it to the trusted keys first, which tell that checkpoints were signed.
 */
export async function openSigningKey(folder: string, origin: string): Promise<SigningKey> {
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o700)
  const file = join(folder, PRIVATE_KEY_FILE)
  if (!existsSync(file)) await createPrivateKeyFile(file)
  const privateKey = readPrivateKey(await readFile(file), file)
  return { name: origin, publicKey: rawPublicKey(createPublicKey(privateKey)), privateKey }
}

/** Under its name, the file is complete from the beginning, and never replaces another one. */
async function createPrivateKeyFile(file: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const unfinished = `${file}.${randomUUID()}.tmp`
  await writeFile(unfinished, privateKey.export({ format: 'pem', type: 'pkcs8' }), {
    flag: 'wx',
    mode: 0o600,
  })
  await link(unfinished, file).catch(ignoreExisting)
  await rm(unfinished)
}

function readPrivateKey(pem: Buffer, file: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The error of the parser is not shown: it could contain parts of the key.
  }
  throw new Error(`${file} is not an Ed25519 key in PEM. Restore it, or delete it to create a new one.`)
}

/** Adds a key to those whose checkpoints are accepted. */
export async function trustKey(folder: string, key: VerifierKey): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const text = formatVerifierKey(key)
  const [, id] = text.split('+')
  await writeFile(join(folder, `${id}.pub`), `${text}\n`, { flag: 'wx', mode: 0o600 }).catch(ignoreExisting)
}

/** Copies the public keys of one folder into another, which is created if there are any. */
export async function copyPublicKeys(from: string, to: string): Promise<void> {
  const names = await listPublicKeys(from)
  if (names.length > 0) await mkdir(to, { recursive: true, mode: 0o700 })
  for (const name of names) await copyFile(join(from, name), join(to, name))
}

/** Returns an empty list if the folder does not exist. */
async function listPublicKeys(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => name.endsWith('.pub'))
}

/** Whose checkpoints are accepted. A key counts for every name: an imported log has a new one. */
export class TrustedKeys {
  readonly #keys: readonly VerifierKey[]

  constructor(keys: readonly VerifierKey[]) {
    this.#keys = keys
  }

  /** Reads all keys in files `*.pub` in the folder. Throws if one of them is not a key. */
  static async read(folder: string): Promise<TrustedKeys> {
    const names = await listPublicKeys(folder)
    return new TrustedKeys(await Promise.all(names.map((name) => readPublicKey(join(folder, name)))))
  }

  with(keys: readonly VerifierKey[]): TrustedKeys {
    return new TrustedKeys([...this.#keys, ...keys])
  }

  /** Whether there is a key with this name: the origin of checkpoints that it signs. */
  has(name: string): boolean {
    return this.#keys.some((key) => key.name === name)
  }

  /** Whether one of the keys has signed the checkpoint under the name of its origin. */
  accepts({ origin, note }: SignedCheckpoint): boolean {
    return this.#keys.some(({ publicKey }) => isSignedBy(note, { name: origin, publicKey }))
  }
}

async function readPublicKey(file: string): Promise<VerifierKey> {
  const key = parseVerifierKey((await readFile(file, 'utf8')).trim())
  if (key !== undefined) return key
  throw new Error(`${file} is not a public key as "signalbox log key" prints it.`)
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
}
