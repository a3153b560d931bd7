import type { ShownRequest } from './record.ts'

/** What several processes know about requests, each about those that it has served. */
export interface SharedRecords {
  /** What another process knows. Rejects when they cannot be asked. */
  find(requestId: string): Promise<ShownRequest | undefined>
  /** Lends the others what this process knows. */
  offer(find: (requestId: string) => ShownRequest | undefined): void
}
