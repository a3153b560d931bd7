import type { Transform } from 'node:stream'
import zlib from 'node:zlib'

/** As in browsers, a body may lack the end of its encoding: its format shows whether it is complete. */
const OPTIONS = { finishFlush: zlib.constants.Z_SYNC_FLUSH }

type CreateDecoder = (start: Buffer) => Transform

const DECODERS: Readonly<Record<string, CreateDecoder>> = {
  gzip: () => zlib.createGunzip(OPTIONS),
  'x-gzip': () => zlib.createGunzip(OPTIONS),
  // Some servers leave out the header of zlib.
  deflate: ([first = 0]) =>
    (first & 0x0f) === 8 ? zlib.createInflate(OPTIONS) : zlib.createInflateRaw(OPTIONS),
  br: () => zlib.createBrotliDecompress(),
  ...findZstd(),
}

/**
 * Finds how a body with this `content-encoding` is decoded, given its first bytes. Returns undefined if it is
 * not encoded, and false if it cannot be decoded: several encodings are never used in practice.
 */
export function findDecoder(
  header: string | readonly string[] | undefined,
): CreateDecoder | undefined | false {
  if (header === undefined) return undefined
  const encoding = String(header).trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return undefined
  return Object.hasOwn(DECODERS, encoding) && (DECODERS[encoding] ?? false)
}

/** Node has zstd from 22.15 on. */
function findZstd(): Readonly<Record<string, CreateDecoder>> {
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform }
  return createZstdDecompress === undefined ? {} : { zstd: () => createZstdDecompress() }
}
