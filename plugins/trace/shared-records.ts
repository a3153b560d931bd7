import type { RequestSummary } from './record.ts'

/** What several processes know about requests, each about those that it has served. */
export interface SharedRecords {
  /** What another process knows. Rejects when they cannot be asked. */
  find(requestId: string): Promise<RequestSummary | undefined>
  /** Lends the others what this process knows. */
  offer(find: (requestId: string) => RequestSummary | undefined): void
}
