import { hash } from 'node:crypto'

/** What is stored of a key: its SHA-256 as hex. A key has 256 bits of chance, so a plain hash cannot be searched. */
export function hashKey(key: string): string {
  return hash('sha256', key)
}

/** The token of an `Authorization: Bearer` header, or undefined. */
export function readBearer(header: string | undefined): string | undefined {
  return header?.match(/^Bearer +(\S+) *$/i)?.[1]
}
