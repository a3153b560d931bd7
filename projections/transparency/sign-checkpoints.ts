import { hash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { Logger } from 'pino'
import { type EventLog, WrongExpectedRevisionError } from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { CHECKPOINTS_STREAM } from '../../core/event-log/streams.ts'
import { formatVerifierKey, originOf, signCheckpoint } from '../../core/event-log/transparency/checkpoint.ts'
import {
  NewestCheckpoint,
  type StoredCheckpoint,
} from '../../core/event-log/transparency/checkpoint-stream.ts'
import { hashEventLeaf, type ReceivedLeaves } from '../../core/event-log/transparency/event-leaf.ts'
import {
  openSigningKey,
  type SigningKey,
  TrustedKeys,
  trustKey,
} from '../../core/event-log/transparency/keys.ts'
import { advanceByReceivedLeaves, advanceLogTree } from '../../core/event-log/transparency/log-tree.ts'
import { readRoot } from '../../core/event-log/transparency/merkle-tree.ts'
import {
  IncompleteTreeError,
  REBUILT_SUFFIX,
  TreeFiles,
} from '../../core/event-log/transparency/tree-files.ts'
import { createMetadata } from '../../core/events/codec.ts'
import { CheckpointSigned } from '../../core/events/log-events.ts'
import type { Clock } from '../../core/util/clock.ts'
import {
  EvidenceContradictedError,
  type EvidencePlace,
  keysFolder,
  noteContradiction,
  readContradiction,
  requireRecordedEvents,
  requireUnsigned,
  treeFolder,
} from './compare-evidence.ts'

export interface SignerOptions extends EvidencePlace {
  readonly clock: Clock
  readonly logger: Logger
  /** Leaves of the events that this process receives. Without them, all events are read from the log. */
  readonly received?: ReceivedLeaves
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

  /** Records the hashes of the events that the tree lacks. Throws an `EvidenceContradictedError`. */
  async record(): Promise<void> {
    // Signing again may show that a contradiction was resolved.
    if (await readContradiction(this.#options)) return this.sign()
    await this.#guard(() => (this.#tree ? this.#advance(this.#tree) : this.#bringUpToDate()))
  }

  /**
   * Brings the tree up to date, and signs a checkpoint if there are events that the newest one does not
   * cover. If another process signs at the same time, one of the two checkpoints is stored. Throws an
   * `EvidenceContradictedError`.
   */
  async sign(): Promise<void> {
    await this.#guard(async () => {
      // Another process of the node has found a contradiction: the events are compared again.
      if (this.#tree && (await readContradiction(this.#options))) await this.close()
      const { tree, previous } = await this.#bringUpToDate()
      // The checkpoint's own event is no reason for another one.
      if (tree.size > 0 && tree.size - 1 !== previous?.size) await this.#append(tree, previous)
      await noteContradiction(this.#options, undefined)
    })
  }

  /** Adds all events to the tree, which must lead to the newest checkpoint, and to the newest trusted one. */
  async #bringUpToDate(): Promise<{ tree: TreeFiles; previous: StoredCheckpoint | undefined }> {
    const tree = this.#tree ?? (await this.#open())
    const previous = await this.#newest.read()
    await this.#advance(tree, previous)
    const required = [previous, await this.#findTrusted()].filter((each) => each !== undefined)
    if (await findUnmet(tree, required)) await this.#rebuild(tree, required)
    return { tree: this.#tree ?? tree, previous }
  }

  async close(): Promise<void> {
    await this.#tree?.close()
    this.#tree = undefined
  }

  /** Other processes of the node show what `run` finds. */
  async #guard(run: () => Promise<unknown>): Promise<void> {
    try {
      await run()
    } catch (error) {
      const found =
        error instanceof IncompleteTreeError ? new EvidenceContradictedError(error.message) : error
      if (found instanceof EvidenceContradictedError) await noteContradiction(this.#options, found)
      throw found
    }
  }

  /** The newest checkpoint, or events before it, may not have been received yet. */
  async #advance(tree: TreeFiles, previous?: StoredCheckpoint): Promise<void> {
    const { received } = this.#options
    if (received) await advanceByReceivedLeaves(tree, this.#log, received)
    if (!received || lacksCheckpoint(tree, previous)) await advanceLogTree(tree, this.#log)
  }

  async #open(): Promise<TreeFiles> {
    const { dataDir, logId } = this.#options
    const tree = await TreeFiles.open(treeFolder(dataDir, logId))
    try {
      const isSigned = (await this.#newest.read()) !== undefined
      if (tree.size === 0 && !isSigned) await requireUnsigned(this.#log, this.#options)
      await requireRecordedEvents(tree, this.#log, await this.#findTrusted(), this.#options)
      this.#tree = tree
      return tree
    } finally {
      if (this.#tree === undefined) await tree.close()
    }
  }

  async #findTrusted(): Promise<StoredCheckpoint | undefined> {
    const keys = await TrustedKeys.read(keysFolder(this.#options.dataDir))
    return this.#newest.find((checkpoint) => keys.accepts(checkpoint))
  }

  /**
   * Builds the tree again, in case its files are wrong and not the log. They are kept unless the events lead
   * to the newest checkpoint, and to the newest trusted one.
   */
  async #rebuild(tree: TreeFiles, required: readonly StoredCheckpoint[]): Promise<void> {
    const { dataDir, logId, logger } = this.#options
    const folder = treeFolder(dataDir, logId)
    await requireRecordedEvents(tree, this.#log, await this.#findTrusted(), this.#options)
    await rm(folder + REBUILT_SUFFIX, { recursive: true, force: true })
    const rebuilt = await TreeFiles.open(folder + REBUILT_SUFFIX)
    await advanceLogTree(rebuilt, this.#log)
    const unmet = await findUnmet(rebuilt, required)
    if (unmet) {
      await rebuilt.remove()
      throw new EvidenceContradictedError(
        `The event log does not hold the ${unmet.size} events that its newest checkpoint was signed over.`,
      )
    }
    logger.warn({ folder }, 'Merkle tree did not belong to the event log; it was built again')
    await rebuilt.replace(tree)
    this.#tree = rebuilt
  }

  async #append(tree: TreeFiles, previous: StoredCheckpoint | undefined): Promise<void> {
    const { dataDir, logId, clock, logger } = this.#options
    const { size } = tree
    const root = tree.root()
    const origin = originOf(logId)
    const key = this.#key ?? (await openSigningKey(keysFolder(dataDir), origin))
    if (this.#key === undefined) await trustKey(keysFolder(dataDir), key)
    this.#key = key
    // An import gives events new positions, which the checkpoints of the log that was exported do not know.
    const from = previous?.origin === origin ? previous.size : 0
    const positions = hash('sha256', await tree.readPositions(from, size), 'hex')
    const note = signCheckpoint({ origin, size, root }, key.privateKey)
    const event = {
      type: CheckpointSigned.type,
      data: { note, key: formatVerifierKey(key), positions },
    }
    const metadata = createMetadata({ actor: SYSTEM_ACTOR }, clock())
    try {
      const expectedRevision = this.#newest.revision
      const { position } = await this.#log.append(CHECKPOINTS_STREAM, [event], { expectedRevision, metadata })
      // Recorded even if the process stops now; where positions have gaps, only once it is received.
      if (position === tree.lastPosition + 1) {
        const revision = expectedRevision + 1
        const leaf = { ...event, stream: CHECKPOINTS_STREAM, revision, position, metadata }
        tree.append(position, hashEventLeaf(leaf))
        await tree.flush()
      }
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

/** The first checkpoint that the tree does not extend. */
async function findUnmet(
  tree: TreeFiles,
  checkpoints: readonly StoredCheckpoint[],
): Promise<StoredCheckpoint | undefined> {
  for (const checkpoint of new Set(checkpoints)) {
    const { size, root } = checkpoint
    if (tree.size <= size || !(await readRoot(size, tree.readHash)).equals(root)) return checkpoint
  }
  return undefined
}
