import { readFile, stat } from 'node:fs/promises'

const MAX_MEGABYTES = 32
const MAX_BYTES = MAX_MEGABYTES * 1_000_000
const TIMEOUT_MS = 30_000

/** Reads a text from a file, or from a URL by HTTP, of at most 32 MB and within 30 seconds. */
export async function readSource(source: string): Promise<{ readonly name: string; readonly text: string }> {
  const url = parseUrl(source)
  const name = nameSource(source)
  if (url === undefined) return { name, text: await readLimitedFile(source) }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Error(`${url.protocol} cannot be read. Use a file, or an address with http or https.`)
  if (url.username !== '' || url.password !== '')
    throw new Error(`${name} cannot be read: an address must not contain a user or password.`)
  return { name, text: await fetchText(url, name) }
}

/** The name of a source in messages. That of an address is without user and query, which may be secret. */
export function nameSource(source: string): string {
  const url = parseUrl(source)
  return url === undefined ? source : `${url.origin}${url.pathname}`
}

function parseUrl(source: string): URL | undefined {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(source) && URL.canParse(source) ? new URL(source) : undefined
}

async function readLimitedFile(file: string): Promise<string> {
  const { size } = await stat(file).catch((error: Error) => {
    throw new Error(`${file} cannot be read: ${error.message}.`)
  })
  if (size > MAX_BYTES) throw tooLargeError(file)
  return readFile(file, 'utf8').catch((error: Error) => {
    throw new Error(`${file} cannot be read: ${error.message}.`)
  })
}

async function fetchText(url: URL, name: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: Error) => {
    const { name: kind, cause } = error
    const code =
      kind === 'TimeoutError' ? 'no answer in time' : (cause as NodeJS.ErrnoException | undefined)?.code
    throw new Error(`${name} cannot be read: ${code ?? 'the request failed'}.`)
  })
  if (!response.ok) throw new Error(`${name} cannot be read: HTTP ${response.status}.`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw tooLargeError(name)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function tooLargeError(name: string): Error {
  return new Error(`${name} has more than ${MAX_MEGABYTES} MB.`)
}
