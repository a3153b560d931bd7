import { post } from '../lib/api.ts'
import { useData, useInterval, useResource } from '../lib/data.ts'
import { humanize } from '../lib/format.ts'
import { users } from '../lib/names.ts'
import { readPendingApprovals } from '../lib/pending-approvals.ts'
import { href, type PageProps } from '../lib/router.ts'
import type { Approval, ApprovalDetails } from '../lib/schemas.ts'
import { hasRole, isOperator, root, seesEverything } from '../lib/session.ts'
import { ChangeButton } from '../ui/dialogs.tsx'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { JsonText } from '../ui/json.tsx'
import { type Column, PagedList, VirtualList, VirtualTable } from '../ui/list.tsx'
import { Empty, Links, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import {
  ActorName,
  Badge,
  pastRulesLink,
  SessionLink,
  Stat,
  Time,
  type Tone,
  UserLink,
} from '../ui/values.tsx'

/** Calls wait for a decision: those that are new appear by themselves. */
const REFRESH_MS = 3000

export function ApprovalPages({ path: [id] }: PageProps) {
  return id === undefined ? <ApprovalList /> : <ApprovalPage id={id} />
}

const TONES: Readonly<Record<Approval['status'], Tone>> = {
  ...{ pending: 'warn', granted: 'good', denied: 'bad', expired: 'plain', used: 'info' },
}

const STATUSES = Object.keys(TONES) as readonly Approval['status'][]

const FILTERS: readonly Filter[] = [{ name: 'status', label: 'Status', options: [['', 'all'], ...STATUSES] }]

/** What waits comes first, with the arguments of the calls. */
function ApprovalList() {
  const pending = useResource('pending approvals', readPendingApprovals)
  useInterval(REFRESH_MS, pending.reload)
  const { status = '' } = chosenFilters(FILTERS)
  return (
    <PageLayout title="Approvals">
      <Panel title="Waiting for a decision">
        <ResourceView resource={pending}>
          {({ data, next_cursor }) => (
            <>
              {data.length === 0 && <Empty>No tool call waits for an approval.</Empty>}
              <VirtualList class="list" items={data}>
                {(approval) => (
                  <PendingApproval key={approval.id} approval={approval} onDone={pending.reload} />
                )}
              </VirtualList>
              {next_cursor !== null && <p class="muted">Earlier ones appear when these are decided.</p>}
            </>
          )}
        </ResourceView>
      </Panel>
      {pending.data && (
        <>
          <Filters filters={FILTERS} />
          <PagedList<Approval>
            path={`${root()}/approvals`}
            query={{ status, limit: 100 }}
            version={pending.data.data.map(({ id }) => id).join()}
            empty="No approvals match. Tool rules with the action require_approval ask for them."
          >
            {(approvals) => (
              <VirtualTable name="approvals" columns={COLUMNS} items={approvals} keyOf={({ id }) => id} />
            )}
          </PagedList>
        </>
      )}
    </PageLayout>
  )
}

const nameOf = ({ server, tool }: Approval) => `${tool} at ${server}`

const linkOf = ({ id }: Approval) => href(`/approvals/${id}`)

const COLUMNS: readonly Column<Approval>[] = [
  {
    title: 'Asked',
    value: ({ created_at }) => created_at,
    cell: (approval) => (
      <a href={linkOf(approval)}>
        <Time value={approval.created_at} />
      </a>
    ),
  },
  {
    title: 'Status',
    value: ({ status }) => humanize(status),
    cell: ({ status }) => <ApprovalBadge status={status} />,
  },
  { title: 'Tool', value: nameOf },
  {
    title: 'User',
    value: ({ user_id }) => users.of(user_id),
    cell: ({ user_id }) => <UserLink id={user_id} />,
  },
  { title: 'Rule', class: 'clip', value: ({ rule_name }) => rule_name },
  {
    title: 'Decided',
    value: ({ decided_at }) => decided_at,
    cell: ({ decided_at }) => (decided_at ? <Time value={decided_at} /> : <span class="muted">–</span>),
  },
  {
    title: 'By',
    value: ({ decided_by }) => decided_by?.name,
    cell: ({ decided_by }) => (decided_by ? <ActorName actor={decided_by} /> : <span class="muted">–</span>),
  },
]

function ApprovalBadge({ status }: Pick<Approval, 'status'>) {
  return <Badge tone={TONES[status]}>{humanize(status)}</Badge>
}

interface ApprovalProps {
  readonly approval: Approval
  readonly onDone: () => void
}

function PendingApproval({ approval, onDone }: ApprovalProps) {
  const { id, user_id, rule_name, created_at, expires_at } = approval
  const details = useData<ApprovalDetails>(`${root()}/approvals/${id}`)
  return (
    <li>
      <div class="spread">
        <span>
          <b>
            <a href={linkOf(approval)}>{nameOf(approval)}</a>
          </b>
          <small class="muted block">
            <UserLink id={user_id} /> · rule {rule_name} · asked <Time value={created_at} relative /> ·
            expires <Time value={expires_at} relative />
          </small>
        </span>
        <Decision approval={approval} details={details.data} onDone={onDone} />
      </div>
      <ResourceView resource={details}>{(loaded) => <Arguments approval={loaded} />}</ResourceView>
    </li>
  )
}

function Arguments({ approval }: { readonly approval: ApprovalDetails }) {
  if (approval.arguments === null)
    return <p class="muted">The arguments are not kept. Their digest: {approval.arguments_digest}</p>
  return <JsonText label={`Arguments of ${nameOf(approval)}`} value={approval.arguments} />
}

interface DecisionProps extends ApprovalProps {
  readonly details: ApprovalDetails | undefined
}

/** Grants or denies. What was granted can be taken back until it is used. */
function Decision({ approval, details, onDone }: DecisionProps) {
  const { id, status } = approval
  if (!hasRole('editor') || (status !== 'pending' && status !== 'granted')) return null
  const decide = (verb: 'grant' | 'deny') => (_: object, reason: string) =>
    post(`/admin/approvals/${id}/${verb}`, {}, { reason }).then(onDone)
  const call = details && <Arguments approval={details} />
  return (
    <span class="actions">
      {status === 'pending' && (
        <ChangeButton
          label="Grant"
          kind="primary"
          title={`Grant ${nameOf(approval)}?`}
          onSave={decide('grant')}
        >
          {call}
          <p>The same call, with these arguments, passes once. A change of the rules ends the approval.</p>
        </ChangeButton>
      )}
      <ChangeButton
        label={status === 'pending' ? 'Deny' : 'Take back'}
        kind="danger"
        isDangerous
        title={`${status === 'pending' ? 'Deny' : 'Take back'} ${nameOf(approval)}?`}
        onSave={decide('deny')}
      >
        {call}
      </ChangeButton>
    </span>
  )
}

/** One approval: what was asked, by which rule, and what became of it. */
function ApprovalPage({ id }: { readonly id: string }) {
  const approval = useData<ApprovalDetails>(`${root()}/approvals/${encodeURIComponent(id)}`, {}, REFRESH_MS)
  const { data } = approval
  return (
    <PageLayout
      title={data ? nameOf(data) : `Approval ${id}`}
      actions={data && <Decision approval={data} details={data} onDone={() => decided(approval.reload)} />}
    >
      <ResourceView resource={approval}>{(loaded) => <ApprovalContent approval={loaded} />}</ResourceView>
    </PageLayout>
  )
}

/** Updates the number in the navigation, too. */
function decided(reload: () => void): void {
  reload()
  readPendingApprovals().catch(() => undefined)
}

function ApprovalContent({ approval }: { readonly approval: ApprovalDetails }) {
  const { status, user_id, user_name, rule_name, used_by, session_id } = approval
  return (
    <>
      <Links>
        <a href={href('/approvals')}>Approvals</a>
        {pastRulesLink(approval)}
        {isOperator() && <a href={href('/audit', { kind: 'approval', q: approval.id })}>Changes</a>}
        {seesEverything() && <a href={href('/tool-servers')}>Tool servers</a>}
      </Links>
      <dl class="stats">
        <Stat label="Status" value={<ApprovalBadge status={status} />} />
        <Stat label="User" value={<UserLink id={user_id} {...(user_name !== '' && { name: user_name })} />} />
        <Stat label="Rule" value={rule_name} />
        <Stat label="Asked" value={<Time value={approval.created_at} />} />
        <Stat
          label={status === 'expired' ? 'Expired' : 'Expires'}
          value={<Time value={approval.expires_at} />}
        />
        {approval.decided_at && <Stat label="Decided" value={<Time value={approval.decided_at} />} />}
        {approval.decided_by && <Stat label="By" value={<ActorName actor={approval.decided_by} />} />}
        {session_id && <Stat label="Session" value={<SessionLink id={session_id} user={user_id} />} />}
        {used_by && <Stat label="Used by" value={<a href={href(`/tool-calls/${used_by}`)}>{used_by}</a>} />}
      </dl>
      <Panel title="Arguments">
        <Arguments approval={approval} />
        <p class="muted">
          Digest <code class="secret">{approval.arguments_digest}</code>
        </p>
      </Panel>
    </>
  )
}
