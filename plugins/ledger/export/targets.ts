import { fileTarget } from './file-target.ts'
import { kafkaTarget } from './kafka-target.ts'
import { langfuseTarget } from './langfuse-target.ts'
import { s3Target } from './s3-target.ts'
import type { ExportTarget, ExportTargetKind, TargetServices } from './target.ts'
import { webhookTarget } from './webhook-target.ts'

/** A row of the setting `ledger.export`, which `findExportIssues` has checked. */
export type ExportRow = {
  readonly name?: string
  readonly batch_records?: number
  readonly batch_seconds?: number
} & (
  | ({ readonly to: 'file' } & RowOf<typeof fileTarget>)
  | ({ readonly to: 'webhook' } & RowOf<typeof webhookTarget>)
  | ({ readonly to: 's3' } & RowOf<typeof s3Target>)
  | ({ readonly to: 'kafka' } & RowOf<typeof kafkaTarget>)
  | ({ readonly to: 'langfuse' } & RowOf<typeof langfuseTarget>)
)

type RowOf<Kind> = Kind extends ExportTargetKind<infer Row> ? Row : never

/** All kinds of targets, by the value of `to`. */
const KINDS = {
  file: fileTarget,
  webhook: webhookTarget,
  s3: s3Target,
  kafka: kafkaTarget,
  langfuse: langfuseTarget,
}

export interface OpenedTarget {
  readonly name: string
  readonly target: ExportTarget
  readonly pageRecords: number
  readonly pageSeconds: number
}

export function openTarget(row: ExportRow, services: TargetServices): OpenedTarget {
  const { to, name = to, batch_records, batch_seconds } = row
  // Safe: `to` says which fields the row has.
  const kind = KINDS[to] as ExportTargetKind<typeof row>
  return {
    name,
    target: kind.open({ ...row, name }, services),
    pageRecords: batch_records ?? kind.pageRecords,
    pageSeconds: batch_seconds ?? kind.pageSeconds,
  }
}
