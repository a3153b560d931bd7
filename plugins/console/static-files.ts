import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { constants, gzipSync } from 'node:zlib'

export interface StaticFile {
  readonly type: string
  readonly content: Buffer
  readonly gzipped: Buffer
}

/** The files of the console, by path. */
export type StaticFiles = ReadonlyMap<string, StaticFile>

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Reads the files into memory: they are a few, and small. Undefined if there are none. */
export function readStaticFiles(folder: string): StaticFiles | undefined {
  const names = [...listFiles(folder, ''), ...listFiles(folder, 'assets/')]
  if (!names.includes('index.html')) return undefined
  return new Map(names.map((name) => [name, readStaticFile(folder, name)]))
}

function listFiles(folder: string, below: string): readonly string[] {
  try {
    const entries = readdirSync(join(folder, below), { withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map(({ name }) => below + name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function readStaticFile(folder: string, name: string): StaticFile {
  const content = readFileSync(join(folder, name))
  const gzipped = gzipSync(content, { level: constants.Z_BEST_COMPRESSION })
  return { type: TYPES[extname(name)] ?? 'application/octet-stream', content, gzipped }
}
