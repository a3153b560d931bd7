import { randomBytes, randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SECRET_BYTES = 32

/** A secret in a file. All processes of a data folder have the same one. */
export interface SecretFile {
  /** Undefined if nobody has needed the secret with this data folder. */
  read(): Buffer | undefined
  /** Creates the secret if there is none. */
  readOrCreate(): Buffer
}

/**
 * The secret is a file of the folder `keys` in the data folder, which is created when it is first needed.
 * `consequence` ends the error about a damaged file: what happens if it is deleted.
 */
export function createSecretFile(dataDir: string, name: string, consequence: string): SecretFile {
  const folder = join(dataDir, 'keys')
  const file = join(folder, name)
  let secret: Buffer | undefined

  function read(): Buffer | undefined {
    secret ??= readSecret(file, consequence)
    return secret
  }

  return {
    read,
    readOrCreate() {
      const known = read()
      if (known !== undefined) return known
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      createFile(file)
      return read() ?? missing(file)
    },
  }
}

/** Under its name, the file is complete, and never replaces that of another process. */
function createFile(file: string): void {
  const unfinished = `${file}.${randomUUID()}.tmp`
  writeFileSync(unfinished, randomBytes(SECRET_BYTES), { flag: 'wx', mode: 0o600 })
  try {
    linkSync(unfinished, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(unfinished)
  }
}

function readSecret(file: string, consequence: string): Buffer | undefined {
  try {
    const secret = readFileSync(file)
    if (secret.length === SECRET_BYTES) return secret
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  throw new Error(`${file} does not have ${SECRET_BYTES} bytes. Delete it: ${consequence}`)
}

function missing(file: string): never {
  throw new Error(`${file} was deleted while it was read. Try again.`)
}
