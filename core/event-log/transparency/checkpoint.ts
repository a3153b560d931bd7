import { createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'
import { HASH_BYTES, hashLeaf, rootOfInclusion, type TreeHead } from './merkle-tree.ts'

/** A C2SP signed note: a text, and the signatures below it. */
interface SignedNote {
  /** Ends with a line break. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

interface NoteSignature {
  readonly name: string
  readonly keyId: Buffer
  readonly signature: Buffer
}

/** An Ed25519 key under a name. Its text form is `name+id+key`, as in C2SP signed-note. */
export interface VerifierKey {
  readonly name: string
  /** 32 bytes. */
  readonly publicKey: Buffer
}

const ED25519 = 1
const KEY_ID_BYTES = 4
const PUBLIC_KEY_BYTES = 32
const SIGNATURE_LINE = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u

/** Signs a text, which must end with a line break, with an Ed25519 key. */
export function signNote(text: string, name: string, privateKey: KeyObject): string {
  const signature = sign(null, Buffer.from(text), privateKey)
  const keyId = keyIdOf({ name, publicKey: rawPublicKey(createPublicKey(privateKey)) })
  return `${text}\n— ${name} ${Buffer.concat([keyId, signature]).toString('base64')}\n`
}

/** Returns undefined for a text that is not a signed note. Signatures are not verified. */
export function parseNote(note: string): SignedNote | undefined {
  const end = note.lastIndexOf('\n\n')
  if (end === -1 || !note.endsWith('\n')) return undefined
  const lines = note.slice(end + 2, -1).split('\n')
  const signatures = lines.map(parseSignatureLine)
  const valid = signatures.filter((signature) => signature !== undefined)
  return valid.length === lines.length ? { text: note.slice(0, end + 1), signatures: valid } : undefined
}

function parseSignatureLine(line: string): NoteSignature | undefined {
  const [, name, encoded = ''] = SIGNATURE_LINE.exec(line) ?? []
  const bytes = decodeBase64(encoded)
  if (name === undefined || bytes === undefined || bytes.length <= KEY_ID_BYTES) return undefined
  return { name, keyId: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) }
}

/** Whether the note has a signature of this key, and no other one under its name and id that is wrong. */
export function isSignedBy({ text, signatures }: SignedNote, key: VerifierKey): boolean {
  const keyId = keyIdOf(key)
  const own = signatures.filter((signature) => signature.name === key.name && signature.keyId.equals(keyId))
  if (own.length === 0) return false
  const publicKey = toKeyObject(key.publicKey)
  return own.every(({ signature }) => verify(null, Buffer.from(text), publicKey, signature))
}

export function formatVerifierKey(key: VerifierKey): string {
  const encoded = Buffer.concat([Buffer.of(ED25519), key.publicKey]).toString('base64')
  return `${key.name}+${keyIdOf(key).toString('hex')}+${encoded}`
}

/** Returns undefined for a text that is not an Ed25519 key in this form, or has the wrong id. */
export function parseVerifierKey(text: string): VerifierKey | undefined {
  const [, name, id, encoded = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text) ?? []
  const bytes = decodeBase64(encoded)
  if (name === undefined || bytes?.length !== 1 + PUBLIC_KEY_BYTES || bytes[0] !== ED25519) return undefined
  const key = { name, publicKey: bytes.subarray(1) }
  return keyIdOf(key).toString('hex') === id ? key : undefined
}

/** The 32 bytes of an Ed25519 public key. */
export function rawPublicKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(-PUBLIC_KEY_BYTES)
}

/** Decodes base64 in its only valid form: two texts never stand for the same bytes. */
function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

function keyIdOf({ name, publicKey }: VerifierKey): Buffer {
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), publicKey])
  return hash('sha256', bytes, 'buffer').subarray(0, KEY_ID_BYTES)
}

function toKeyObject(publicKey: Buffer): KeyObject {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url') }
  return createPublicKey({ key: jwk, format: 'jwk' })
}

/** The tree of a log at one size, as a C2SP tlog-checkpoint. */
interface Checkpoint extends TreeHead {
  /** Names the log; also the name of the key that signs. */
  readonly origin: string
}

/** A checkpoint with the note that it was read from. */
export interface SignedCheckpoint extends Checkpoint {
  readonly note: SignedNote
}

/** The origin of the checkpoints of a log with this id. */
export function originOf(logId: string): string {
  return `signalbox/${logId}`
}

/** Returns a signed note. */
export function signCheckpoint({ origin, size, root }: Checkpoint, privateKey: KeyObject): string {
  return signNote(`${origin}\n${size}\n${root.toString('base64')}\n`, origin, privateKey)
}

/** Returns undefined for a text that is not a signed checkpoint. Signatures are not verified. */
export function parseCheckpoint(text: string): SignedCheckpoint | undefined {
  const note = parseNote(text)
  const [origin, size = '', encodedRoot = ''] = note?.text.split('\n') ?? []
  const root = decodeBase64(encodedRoot)
  if (note === undefined || !origin || !/^(0|[1-9]\d{0,14})$/.test(size)) return undefined
  return root?.length === HASH_BYTES ? { origin, size: Number(size), root, note } : undefined
}

/** The fields of a proof that are checked. */
export interface ProofToCheck {
  readonly index: number
  readonly leaf: string
  readonly hashes: readonly string[]
  readonly checkpoint: string
}

/**
 * Checks that the leaf is in the tree of the checkpoint, and that `accepts` holds for the signed checkpoint.
 * Returns the checkpoint, or what is wrong, as a sentence.
 */
export function checkProof(
  { index, leaf, hashes: encoded, checkpoint: text }: ProofToCheck,
  accepts: (checkpoint: SignedCheckpoint) => boolean,
): Checkpoint | string {
  const checkpoint = parseCheckpoint(text)
  if (checkpoint === undefined) return 'The checkpoint is not a signed note over a tree.'
  if (!accepts(checkpoint)) return 'The checkpoint was not signed with the key.'
  const hashes = encoded.map(decodeBase64).filter((bytes) => bytes?.length === HASH_BYTES)
  if (hashes.length < encoded.length) return 'A hash of the proof is not 32 bytes in base64.'
  const root = rootOfInclusion(hashLeaf(leaf), index, checkpoint.size, hashes as Buffer[])
  return root?.equals(checkpoint.root)
    ? checkpoint
    : 'The leaf and the hashes do not lead to the root of the checkpoint.'
}
