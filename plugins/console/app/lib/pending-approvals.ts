import { signal } from '@preact/signals'
import { type Page, read } from './api.ts'
import type { Approval } from './schemas.ts'
import { root } from './session.ts'

/** More than these are not counted. */
const MAX_PENDING = 100

/** How many approvals wait for a decision, such as "3" or "100+"; empty for none. */
export const pendingCount = signal('')

/** Reads the approvals that wait for a decision, and counts them for the navigation. */
export async function readPendingApprovals(): Promise<Page<Approval>> {
  const page = await read<Page<Approval>>(`${root()}/approvals`, { status: 'pending', limit: MAX_PENDING })
  pendingCount.value = page.next_cursor === null ? String(page.data.length || '') : `${MAX_PENDING}+`
  return page
}
