import { createHash } from 'node:crypto'
import type { Position, RecordedEvent } from '../../contract/event-log.ts'
import { CHECKPOINTS_STREAM, LOG_STREAM } from '../streams.ts'
import { formatVerifierKey, isSignedBy, originOf, type SignedCheckpoint } from './checkpoint.ts'
import { parseStoredCheckpoint, type StoredCheckpoint } from './checkpoint-stream.ts'
import { hashEventLeaf, requireAsWritten } from './event-leaf.ts'
import { createChangedEventFinder } from './find-changed-event.ts'
import { MerkleTree } from './merkle-tree.ts'
import type { RecordedLeaves } from './recorded-leaves.ts'
import { encodePositions } from './tree-files.ts'

const BATCH = 1024

/** Hashes the positions of events in log order, as checkpoints do. */
interface PositionHashes {
  add(position: Position): void
  /** The hash of the positions up to a size since the one before it, in hex; undefined before that size. */
  of(size: number): string | undefined
}

/** `ends` are the sizes of the checkpoints. */
function createPositionHashes(ends: ReadonlySet<number>): PositionHashes {
  const hashes = new Map<number, string>()
  let hash = createHash('sha256')
  let batch: Position[] = []
  let size = 0

  return {
    add(position) {
      batch.push(position)
      size += 1
      if (batch.length < BATCH && !ends.has(size)) return
      hash.update(encodePositions(batch))
      batch = []
      if (!ends.has(size)) return
      hashes.set(size, hash.digest('hex'))
      hash = createHash('sha256')
    },
    of: (end) => hashes.get(end),
  }
}

interface TreeVerification {
  /** All events of the stream of checkpoints. Later ones are not checked. */
  readonly checkpoints: readonly RecordedEvent[]
  /** Id of the log; undefined for one without an identity. */
  readonly logId: string | undefined
  /** Id of the log that the data folder belongs to, if it is known. */
  readonly folderLogId?: string | undefined
  /** Whether a checkpoint has a signature that counts. */
  accepts(checkpoint: SignedCheckpoint): boolean
  /** A checkpoint that was saved outside of the log, which the log must extend. */
  readonly saved?: SignedCheckpoint | undefined
  /** Whether a key signs, or has signed, checkpoints with this origin. */
  hasKeyOf?(origin: string): boolean
  /** The ids of all logs whose events were recorded in the data folder. */
  readonly recordedLogs?: readonly string[]
  /** The leaves that a gateway has recorded, to name the event that was changed. */
  readonly recorded?: RecordedLeaves | undefined
  /** The leaves that were recorded of logs before they were imported into this one. */
  readonly imported?: readonly RecordedLeaves[]
}

/** Checks the events of a log, in log order, against its checkpoints. */
export interface TreeVerifier {
  /** Throws if the log tells that the event is not stored as it was written. */
  check(record: RecordedEvent): void
  facts(): readonly string[]
  /** Call it after the last event. */
  issues(): readonly string[]
  /** The events behind the newest checkpoint that matches; undefined if there is none. */
  uncovered(): number | undefined
  /** Closes the recorded leaves. */
  close(): void
}

/** The tree after a number of events. */
interface Head {
  readonly root: Buffer
  /** Of the last event. */
  readonly position: Position
}

export function createTreeVerifier(verification: TreeVerification): TreeVerifier {
  const { logId, folderLogId, recordedLogs = [], accepts, hasKeyOf, saved, recorded } = verification
  const { imported = [] } = verification
  const importFinders = imported.map((leaves) => createChangedEventFinder(leaves, { isImported: true }))
  const known = verification.checkpoints.map(parseStoredCheckpoint).filter((each) => each !== undefined)
  const lastKnownRevision = verification.checkpoints.at(-1)?.revision ?? -1
  const sizes = new Set([...known, ...(saved ? [saved] : [])].map(({ size }) => size))
  // Other origins are those of logs that were imported, in which events had other positions.
  const own = known.filter(({ origin }) => logId !== undefined && origin === originOf(logId))
  const ownSizes = new Set(own.map(({ size }) => size))
  const positions = createPositionHashes(ownSizes)
  const finder = recorded && createChangedEventFinder(recorded)
  const tree = new MerkleTree()
  const heads = new Map<number, Head>([[0, { root: tree.root(), position: 0 }]])
  const origins = new Set<string>()
  const issues: string[] = []
  /** The newest checkpoint that matches, and the first one that does not. */
  let proven: StoredCheckpoint | undefined
  let contradicted: { readonly checkpoint: StoredCheckpoint; readonly name: string } | undefined
  /** The first checkpoint that was signed when events had other positions. */
  let renumbered: string | undefined
  let count = 0

  function checkStored(record: RecordedEvent): void {
    // Signed since the stream was read: the tree at its size was not kept.
    if (record.revision > lastKnownRevision) return
    count += 1
    const name = `Checkpoint ${record.revision}, at position ${record.position},`
    const checkpoint = parseStoredCheckpoint(record)
    const issue = checkpoint === undefined ? 'cannot be read.' : findSignatureIssue(checkpoint)
    if (issue !== undefined) issues.push(`${name} ${issue}`)
    else if (checkpoint !== undefined && contradicted === undefined) compare(checkpoint, name)
  }

  function findSignatureIssue(checkpoint: StoredCheckpoint): string | undefined {
    const { note, key, origin } = checkpoint
    if (!origins.has(origin)) return `is of another log: ${origin}.`
    if (!isSignedBy(note, { ...key, name: origin })) return 'has a wrong signature.'
    if (accepts(checkpoint)) return undefined
    return (
      `was signed with an unknown key: ${formatVerifierKey(key)}. If it is that of another node, save it ` +
      'in a file *.pub in the folder keys of the data folder.'
    )
  }

  function compare(checkpoint: StoredCheckpoint, name: string): void {
    const { size, root, positions: expected } = checkpoint
    const isSame = size > (proven?.size ?? 0) && heads.get(size)?.root.equals(root)
    if (!isSame) contradicted = { checkpoint, name }
    else {
      if (ownSizes.has(size) && positions.of(size) !== expected) renumbered ??= name
      proven = checkpoint
    }
  }

  /** Names the event if the recorded leaves are those that were signed, and the range otherwise. */
  function describeContradiction({ checkpoint, name }: NonNullable<typeof contradicted>): string {
    const found = finder?.found()
    if (found !== undefined && recorded?.rootOf(checkpoint.size)?.equals(checkpoint.root)) return found.issue
    const first = positionOfSize(proven?.size ?? 0)
    const last = heads.has(checkpoint.size) ? ` and up to position ${positionOfSize(checkpoint.size)}` : ''
    const range = `after position ${first}${last}`
    return `${name} does not match: an event ${range} was changed, removed, inserted or moved.`
  }

  function findRecordedIssue(): string | undefined {
    const found = finder?.found()
    if (contradicted !== undefined) return undefined
    if (renumbered !== undefined)
      return found?.issue ?? `${renumbered} was signed when the events before it had other positions.`
    if (found === undefined) return undefined
    if (tree.size === 0) return `The event log is empty, but ${recorded?.size} events of it were recorded.`
    if (found.index >= (proven?.size ?? 0)) return `${found.issue} No checkpoint covers it yet.`
    return (
      `The recorded tree differs from the events at position ${found.position}, and the checkpoints agree ` +
      'with the events. Move the folder transparency out of the data folder; the gateway builds it again.'
    )
  }

  /** A log without an id is compared with what was recorded instead. */
  function findReplacement(): string | undefined {
    if (logId === undefined) return undefined
    const isForeign = (id: string) => !origins.has(originOf(id))
    if (folderLogId !== undefined && isForeign(folderLogId))
      return (
        `The event log has the id ${logId}, but the data folder belongs to the log ${folderLogId}. ` +
        'If the log was replaced on purpose, start the gateway once and verify again.'
      )
    const foreign = recordedLogs.find(isForeign)
    if (foreign === undefined) return undefined
    return (
      `The event log has the id ${logId}, but the data folder has recorded events of the log ${foreign}. ` +
      `If the log was replaced on purpose, move transparency/${foreign} out of the data folder.`
    )
  }

  /** A key that has signed checkpoints of a log without any, of which nothing is recorded either. */
  function findMissingEvidence(): string | undefined {
    const hasKey = hasKeyOf && [...origins].some(hasKeyOf)
    if (!hasKey || count > 0 || (recorded?.size ?? 0) > 0) return undefined
    return (
      'Evidence is missing: a key in the folder keys has signed checkpoints of this log, but the log holds ' +
      'no checkpoint, and no hashes of its events are recorded. Restore the log, or the folder transparency.'
    )
  }

  /** Says up to where events are compared with recorded hashes. */
  function describeRecorded(from: number): string[] {
    if (recorded === undefined || recorded.size === 0) {
      const left = tree.size - from
      if (from === 0 || left <= 1) return []
      return [`No hashes are recorded: changes of the last ${left} events cannot be found.`]
    }
    if (recorded.size <= from) return []
    const last = recorded.positionOf(recorded.size - 1)
    return [`Recorded hashes cover ${recorded.size} of ${tree.size} events, up to position ${last}.`]
  }

  function findSavedIssue({ origin, size, root, note }: SignedCheckpoint): string | undefined {
    if (!origins.has(origin)) return `The saved checkpoint is of another log: ${origin}.`
    if (!accepts({ origin, size, root, note })) return 'The saved checkpoint was signed with an unknown key.'
    if (size > tree.size)
      return `The log has ${tree.size} events, fewer than the ${size} of the saved checkpoint.`
    if (heads.get(size)?.root.equals(root)) return undefined
    return `The log does not extend the saved checkpoint: its first ${size} events were rewritten.`
  }

  const positionOfSize = (size: number) => heads.get(size)?.position ?? 0

  return {
    check(record) {
      const leaf = hashEventLeaf(record)
      // The recorded hash is that of an event as it was written.
      const isRecorded = finder?.check(record, leaf) ?? false
      for (const each of importFinders) each.check(record, leaf)
      if (!isRecorded) requireAsWritten(record)
      if (record.stream === LOG_STREAM) origins.add(originOf(String(record.data.id)))
      if (record.stream === CHECKPOINTS_STREAM) checkStored(record)
      tree.append(leaf)
      positions.add(record.position)
      if (sizes.has(tree.size)) heads.set(tree.size, { root: tree.root(), position: record.position })
    },
    facts() {
      const { size = 0 } = proven ?? {}
      const compared = describeRecorded(size)
      if (count === 0) {
        if (findMissingEvidence() !== undefined) return []
        const isCompared = compared.length > 0
        const rest = isCompared ? '' : ', so changed events cannot be found'
        return [`No checkpoint was signed yet${rest}.`, ...compared]
      }
      const range = `${size} of ${tree.size} events, up to position ${positionOfSize(size)}`
      const checkpoints = count === 1 ? '1 checkpoint' : `${count} checkpoints`
      const proof = `${checkpoints}; the newest that matches covers ${range}.`
      const isExtended = saved !== undefined && findSavedIssue(saved) === undefined
      const extended = `The log extends the saved checkpoint over ${saved?.size} events.`
      return [proof, ...compared, ...(isExtended ? [extended] : [])]
    },
    issues() {
      const others = [
        findReplacement(),
        findMissingEvidence(),
        findRecordedIssue(),
        ...importFinders.map((each) => each.found()?.issue),
        saved && findSavedIssue(saved),
      ]
      return [
        ...(contradicted ? [describeContradiction(contradicted)] : []),
        ...issues,
        ...others.filter((issue) => issue !== undefined),
      ]
    },
    uncovered: () => proven && tree.size - proven.size,
    close() {
      for (const leaves of [recorded, ...imported]) leaves?.close()
    },
  }
}
