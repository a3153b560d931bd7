import type { ToolCallRecord } from '../ledger/index.ts'
import type { CallDecision } from './decide.ts'

/** Whether a decision is the one that was recorded. A record also says what became of the call afterwards. */
export function isRecordedAs(
  { verdict, errorCode, upstreamMs }: Pick<ToolCallRecord, 'verdict' | 'errorCode' | 'upstreamMs'>,
  decided: CallDecision['verdict'],
): boolean {
  if (verdict === 'failed' || (verdict === 'blocked' && upstreamMs > 0))
    return decided === 'allowed' || decided === 'pending_approval'
  if (verdict === 'approved' || errorCode === 'approval_denied') return decided === 'pending_approval'
  return verdict === decided
}
