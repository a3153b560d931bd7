import { expect } from 'chai'
import { createApprovalClaims } from '../../../../plugins/approvals/claim.ts'
import { type ApprovalEvent, approvalKey } from '../../../../projections/events/approvals.ts'
import { type CommandNode, given } from '../../../support/given.ts'

const account = { userId: 7, keyId: 'key_a', name: 'Ada', plan: 'paid', position: 0 } as const

const call = { server: 'files', tool: 'write', argumentsDigest: 'a'.repeat(64), rulesPosition: 3 }

const PAST = '2026-01-01T00:00:00Z'
const FUTURE = '2999-01-01T00:00:00Z'

const approvalId = `apr_${'0'.repeat(24)}`

const requested = (expiresAt: string): ApprovalEvent => ({
  type: 'ApprovalRequested',
  data: { approvalId, userId: 7, ...call, ruleId: 9, ruleName: 'Writes', expiresAt },
})

const granted = (expiresAt: string): ApprovalEvent => ({
  type: 'ApprovalGranted',
  data: { approvalId, userId: 7, expiresAt },
})

const store = { get: async () => undefined, set: async () => undefined, delete: async () => undefined }

const claim = ({ approvals, writer }: CommandNode) =>
  createApprovalClaims({
    ...{ approvals, writer, store },
    expireAfterSeconds: 60,
    maxPendingPerUser: 1,
    onRequested: () => undefined,
  }).claim({ account, requestId: 'req_1', rule: { id: 9, name: 'Writes' }, ...call })

const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type)

describe('a claim of an approval', () => {
  it('uses up the one that was granted', async () => {
    await given(requested(FUTURE), granted(FUTURE))
      .when(claim)
      .expect([{ type: 'ApprovalUsed', data: { approvalId, userId: 7, requestId: 'req_1' } }])
  })

  it('asks again when the one before has expired, granted or not', async () => {
    for (const history of [[requested(PAST)], [requested(FUTURE), granted(PAST)]]) {
      const { events, node } = await given(...history)
        .when(claim)
        .run()
      expect(typesOf(events)).to.deep.equal(['ApprovalRequested'])
      const [expired, pending] = node.approvals.withKey(approvalKey({ userId: 7, ...call }))
      expect(expired?.id).to.equal(approvalId)
      expect(pending?.status).to.equal('pending')
    }
  })

  it('asks again when another node has used the approval first', async () => {
    const used: ApprovalEvent = { type: 'ApprovalUsed', data: { approvalId, userId: 7, requestId: 'req_2' } }
    const { events } = await given(requested(FUTURE), granted(FUTURE))
      .when(claim, { beforeAppend: [used] })
      .run()
    expect(typesOf(events)).to.deep.equal(['ApprovalRequested'])
  })

  it('uses nothing when another node has denied the approval first', async () => {
    const denied: ApprovalEvent = { type: 'ApprovalDenied', data: { approvalId, userId: 7 } }
    await given(requested(FUTURE), granted(FUTURE))
      .when(claim, { beforeAppend: [denied] })
      .expect([])
  })

  it('is the same after a snapshot', async () => {
    const { node } = await given(requested(FUTURE), granted(FUTURE))
      .when(async () => undefined)
      .run()
    const lines = [...node.approvals.save()].map((line) => Buffer.from(line))
    const { events } = await given()
      .when(async (other) => {
        other.approvals.load(lines)
        await claim(other).catch(() => undefined)
      })
      .run()
    expect(typesOf(events)).to.deep.equal([])
  })
})
