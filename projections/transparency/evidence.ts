import type { EventLog, Position } from '../../core/contract/index.ts'
import { CHECKPOINTS_STREAM } from '../../core/event-log/streams.ts'
import { formatVerifierKey } from '../../core/event-log/transparency/checkpoint.ts'
import {
  NewestCheckpoint,
  parseStoredCheckpoint,
  type StoredCheckpoint,
} from '../../core/event-log/transparency/checkpoint-stream.ts'
import { encodeEventLeaf } from '../../core/event-log/transparency/event-leaf.ts'
import { advanceLogTree, endsInLog, readLeafEvent } from '../../core/event-log/transparency/log-tree.ts'
import { buildInclusionProof } from '../../core/event-log/transparency/merkle-tree.ts'
import { IncompleteTreeError, TreeFiles } from '../../core/event-log/transparency/tree-files.ts'
import {
  type Contradiction,
  EvidenceContradictedError,
  readContradiction,
  treeFolder,
} from './compare-evidence.ts'
import { CheckpointSigner, type SignerOptions } from './sign-checkpoints.ts'

/** Shows that an event is in the tree of a checkpoint. */
export interface EventProof {
  readonly position: Position
  /** Number of the event in the log, from 0. */
  readonly index: number
  /** The event as it was hashed. */
  readonly leaf: string
  /** The hashes from the leaf to the root, in base64. */
  readonly hashes: readonly string[]
  /** A signed note. */
  readonly checkpoint: string
  /** The public key that the checkpoint names. */
  readonly key: string
}

/** Why there is no proof: the log has no event there, no checkpoint covers it yet, or the log was changed. */
export type ProofIssue = 'no-event' | 'not-covered' | 'changed'

/** Proves events of the log. Works on every process of a node, also on those that do not sign. */
export interface Evidence {
  /** The newest checkpoint, as a signed note; undefined before the first one. */
  newestCheckpoint(): Promise<string | undefined>
  /** The checkpoints of the log, newest first, below a revision of their stream. */
  checkpoints(limit: number, below?: number): Promise<readonly StoredCheckpoint[]>
  /** The checkpoint over so many events; undefined if none was signed then. */
  checkpointOver(size: number): Promise<StoredCheckpoint | undefined>
  /** How many events the newest checkpoint covers, and when it was signed. */
  coverage(): Promise<Pick<StoredCheckpoint, 'size' | 'time'> | undefined>
  prove(position: Position): Promise<EventProof | ProofIssue>
  /**
   * Signs a checkpoint if there are events that the newest one does not cover, and resolves with the newest
   * one, or with the reason why nothing is signed.
   */
  sign(): Promise<string | Contradiction>
  /** Why this node signs nothing; undefined while it does. */
  contradiction(): Promise<Contradiction | undefined>
}

export function createEvidence(log: EventLog, options: SignerOptions): Evidence {
  const { dataDir, logId } = options
  const newest = new NewestCheckpoint(log)
  let last: Promise<unknown> = Promise.resolve()

  async function proveBy(checkpoint: StoredCheckpoint, position: Position): Promise<EventProof | ProofIssue> {
    const tree = await TreeFiles.open(treeFolder(dataDir, logId)).catch((error: unknown) => {
      if (error instanceof IncompleteTreeError) return undefined
      throw error
    })
    if (tree === undefined) return 'changed'
    try {
      if (!(await endsInLog(tree, log))) return 'changed'
      // Another node may have signed the checkpoint.
      if (tree.size < checkpoint.size || tree.lastPosition < position) await advanceLogTree(tree, log)
      const index = await tree.indexOf(position)
      if (index === undefined) return 'no-event'
      if (index >= checkpoint.size) return 'not-covered'
      const event = await readLeafEvent(tree, log, index)
      if (event === undefined) return 'changed'
      const hashes = await buildInclusionProof(index, checkpoint.size, tree.readHash)
      return {
        position,
        index,
        leaf: encodeEventLeaf(event),
        hashes: hashes.map((hash) => hash.toString('base64')),
        checkpoint: checkpoint.text,
        key: formatVerifierKey(checkpoint.key),
      }
    } finally {
      await tree.close()
    }
  }

  async function sign(): Promise<string | Contradiction> {
    const signer = new CheckpointSigner(log, options)
    try {
      await signer.sign()
      const checkpoint = await newest.read()
      return checkpoint?.text ?? ''
    } catch (error) {
      if (error instanceof EvidenceContradictedError) return error
      throw error
    } finally {
      await signer.close()
    }
  }

  /** One after the other: all of them would bring the tree up to date. */
  function inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = last.then(run)
    last = result.catch(() => undefined)
    return result
  }

  /** Reads only the end of the stream, and less than `limit` where an event holds no checkpoint. */
  async function listCheckpoints(limit: number, below?: number): Promise<readonly StoredCheckpoint[]> {
    await newest.read()
    const end = below ?? newest.revision + 1
    const found: StoredCheckpoint[] = []
    for await (const record of log.read(CHECKPOINTS_STREAM, Math.max(0, end - limit))) {
      if (record.revision >= end) break
      const checkpoint = parseStoredCheckpoint(record)
      if (checkpoint) found.push(checkpoint)
    }
    return found.reverse()
  }

  async function findCheckpoint(size: number): Promise<StoredCheckpoint | undefined> {
    for await (const record of log.read(CHECKPOINTS_STREAM)) {
      const checkpoint = parseStoredCheckpoint(record)
      if (checkpoint && checkpoint.size >= size) return checkpoint.size === size ? checkpoint : undefined
    }
    return undefined
  }

  return {
    checkpoints: listCheckpoints,
    checkpointOver: findCheckpoint,
    newestCheckpoint: async () => (await newest.read())?.text,
    coverage: () => newest.read(),
    prove: (position) =>
      inTurn(async () => {
        const checkpoint = await newest.read()
        return checkpoint === undefined ? 'not-covered' : proveBy(checkpoint, position)
      }),
    sign: () => inTurn(sign),
    contradiction: () => readContradiction(options),
  }
}
