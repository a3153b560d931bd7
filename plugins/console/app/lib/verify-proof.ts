import type { EventProof } from './schemas.ts'

export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: string
  /** The signed text. */
  readonly text: string
  readonly signatures: string
}

export function parseCheckpoint(note: string): Checkpoint {
  const end = note.indexOf('\n\n') + 1
  const text = note.slice(0, end)
  const [origin = '', size = '0', root = ''] = text.split('\n')
  return { origin, size: Number(size), root, text, signatures: note.slice(end) }
}

type Bytes = Uint8Array<ArrayBuffer>

/** Browsers offer cryptography over HTTPS and on the own machine only. */
export function canVerify(): boolean {
  return globalThis.crypto?.subtle !== undefined
}

/**
 * Checks in the browser that the event is in the tree of the checkpoint, and that the checkpoint is signed
 * with the key that the proof names. Returns what is wrong, as a sentence, or undefined.
 */
export async function findProofIssue(proof: EventProof): Promise<string | undefined> {
  const checkpoint = parseCheckpoint(proof.checkpoint)
  const root = await rootOf(proof, checkpoint.size)
  if (root !== checkpoint.root) return 'The event is not in the tree of the checkpoint.'
  return (await isSigned(checkpoint, proof.key)) ? undefined : 'The checkpoint is not signed with the key.'
}

/** Checks in the browser that a checkpoint is signed with a key. Returns what is wrong, as a sentence. */
export async function findCheckpointIssue(note: string, key: string): Promise<string | undefined> {
  return (await isSigned(parseCheckpoint(note), key))
    ? undefined
    : 'The checkpoint is not signed with the key.'
}

/** Computes the root of the tree from a leaf, as RFC 9162 describes it. */
async function rootOf({ index, leaf, hashes }: EventProof, size: number): Promise<string | undefined> {
  let [node, last] = [index, size - 1]
  if (node > last) return undefined
  let digest = await sha256(0, new TextEncoder().encode(leaf))
  for (const encoded of hashes) {
    if (last === 0) return undefined
    const sibling = fromBase64(encoded)
    const isRight = node % 2 === 1 || node === last
    digest = isRight ? await sha256(1, sibling, digest) : await sha256(1, digest, sibling)
    while (isRight && node % 2 === 0 && node > 0) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  return last === 0 ? toBase64(digest) : undefined
}

async function isSigned({ origin, text, signatures }: Checkpoint, key: string): Promise<boolean> {
  const [name, , ...encoded] = key.split('+')
  const line = signatures.split('\n').find((candidate) => candidate.startsWith(`— ${origin} `))
  if (name !== origin || line === undefined) return false
  const publicKey = fromBase64(encoded.join('+')).slice(1)
  const signature = fromBase64(line.split(' ')[2] ?? '').slice(4)
  const imported = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify'])
  return crypto.subtle.verify('Ed25519', imported, signature, new TextEncoder().encode(text))
}

async function sha256(prefix: number, ...parts: readonly Uint8Array[]): Promise<Bytes> {
  const bytes = await new Blob([Uint8Array.of(prefix), ...(parts as Bytes[])]).arrayBuffer()
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

function fromBase64(text: string): Bytes {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

function toBase64(bytes: Bytes): string {
  return btoa(String.fromCharCode(...bytes))
}
