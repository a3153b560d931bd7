import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { type EventLog, WrongExpectedRevisionError } from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { CHECKPOINTS_STREAM } from '../../core/event-log/streams.ts'
import { originOf, signCheckpoint } from '../../core/event-log/transparency/checkpoint.ts'
import {
  NewestCheckpoint,
  type StoredCheckpoint,
} from '../../core/event-log/transparency/checkpoint-stream.ts'
import { openSigningKey, type SigningKey } from '../../core/event-log/transparency/keys.ts'
import {
  advanceByReceivedLeaves,
  advanceLogTree,
  openLogTree,
} from '../../core/event-log/transparency/log-tree.ts'
import { readRoot } from '../../core/event-log/transparency/proofs.ts'
import type { ReceivedLeaves } from '../../core/event-log/transparency/received-leaves.ts'
import { formatVerifierKey } from '../../core/event-log/transparency/signed-note.ts'
import type { TreeFiles } from '../../core/event-log/transparency/tree-files.ts'
import { createMetadata, encodeEvent } from '../../core/events/codec.ts'
import type { Clock } from '../../core/util/clock.ts'

export interface SignerOptions {
  /** The folder of the key and the tree. */
  readonly dataDir: string
  readonly logId: string
  readonly clock: Clock
  readonly logger: Logger
  /** Leaves of the events that this process receives. Without them, all events are read from the log. */
  readonly received?: ReceivedLeaves
}

/** Where the keys are in a data folder. */
export function keysFolder(dataDir: string): string {
  return join(dataDir, 'keys')
}

/** Where the trees of logs are in a data folder. */
export function treesFolder(dataDir: string): string {
  return join(dataDir, 'transparency')
}

/** Where the tree of a log is in a data folder. */
export function treeFolder(dataDir: string, logId: string): string {
  return join(treesFolder(dataDir), logId)
}

/** The log contradicts its newest checkpoint. Nothing is signed before it was restored. */
class CheckpointContradictedError extends Error {
  constructor({ size }: StoredCheckpoint) {
    super(
      `the event log does not hold the ${size} events that its newest checkpoint was signed over; ` +
        'run "signalbox log verify" to find the first event that was changed',
    )
    this.name = 'CheckpointContradictedError'
  }
}

/** Signs checkpoints over a log. */
export class CheckpointSigner {
  readonly #log: EventLog
  readonly #options: SignerOptions
  readonly #newest: NewestCheckpoint
  #tree: TreeFiles | undefined
  #key: SigningKey | undefined

  constructor(log: EventLog, options: SignerOptions) {
    this.#log = log
    this.#options = options
    this.#newest = new NewestCheckpoint(log)
  }

  /**
   * Brings the tree up to date, and signs a checkpoint if there are events that the newest one does not
   * cover. If another process signs at the same time, one of the two checkpoints is stored.
   */
  async sign(): Promise<void> {
    const { dataDir, logId, logger, received } = this.#options
    const previous = await this.#newest.read()
    const tree = this.#tree ?? (await openLogTree(treeFolder(dataDir, logId), this.#log, logger))
    this.#tree = tree
    if (received) await advanceByReceivedLeaves(tree, this.#log, received)
    // The newest checkpoint, or events before it, may not have been received yet.
    if (!received || lacksCheckpoint(tree, previous)) await advanceLogTree(tree, this.#log)
    // The checkpoint's own event is no reason for another one.
    if (tree.size === 0 || (previous && tree.size === previous.size + 1)) return
    if (previous === undefined || (await extendsCheckpoint(tree, previous)))
      return this.#append(tree, previous)
    this.#tree = undefined
    await this.#checkContradiction(tree, previous)
  }

  async close(): Promise<void> {
    await this.#tree?.close()
  }

  /** Builds the tree again, in case the files are wrong and not the log. */
  async #checkContradiction(tree: TreeFiles, previous: StoredCheckpoint): Promise<void> {
    const { dataDir, logId, logger } = this.#options
    await tree.remove()
    const rebuilt = await openLogTree(treeFolder(dataDir, logId), this.#log, logger)
    this.#tree = rebuilt
    await advanceLogTree(rebuilt, this.#log)
    if (!(await extendsCheckpoint(rebuilt, previous))) throw new CheckpointContradictedError(previous)
    await this.#append(rebuilt, previous)
  }

  async #append(tree: TreeFiles, previous: StoredCheckpoint | undefined): Promise<void> {
    const { dataDir, logId, clock, logger } = this.#options
    const { size } = tree
    const root = tree.root()
    const origin = originOf(logId)
    const key = this.#key ?? (await openSigningKey(keysFolder(dataDir), origin))
    this.#key = key
    // An import gives events new positions, which the checkpoints of the log that was exported do not know.
    const from = previous?.origin === origin ? previous.size : 0
    const positions = hash('sha256', await tree.readPositions(from, size), 'hex')
    const note = signCheckpoint({ origin, size, root }, key.privateKey)
    const data = { note, key: formatVerifierKey(key), positions }
    try {
      await this.#log.append(CHECKPOINTS_STREAM, [encodeEvent({ type: 'CheckpointSigned', data })], {
        expectedRevision: this.#newest.revision,
        metadata: createMetadata({ actor: SYSTEM_ACTOR }, clock()),
      })
      logger.info({ events: size }, 'checkpoint signed')
    } catch (error) {
      if (!WrongExpectedRevisionError.isInstance(error)) throw error
    }
  }
}

function lacksCheckpoint(tree: TreeFiles, checkpoint: StoredCheckpoint | undefined): boolean {
  const { size = 0, position = 0 } = checkpoint ?? {}
  return tree.size <= size || tree.lastPosition < position
}

async function extendsCheckpoint(tree: TreeFiles, { size, root }: StoredCheckpoint): Promise<boolean> {
  return tree.size > size && (await readRoot(size, tree.readHash)).equals(root)
}
