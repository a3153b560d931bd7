import { useState } from 'preact/hooks'
import { get, send } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import { hasRole } from '../lib/session.ts'
import type { RouterRow } from '../lib/types.ts'
import { ChangeDialog } from '../ui/dialog.tsx'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { useAddress } from '../ui/use-address.ts'
import { Badge, Time } from '../ui/values.tsx'
import { RouterFigures } from './router-figures.tsx'

interface Report {
  readonly verdict: string
  readonly active: RouterRow | null
}

type OpenDialog =
  | { readonly type: 'train' | 'rollback' }
  | { readonly type: 'activate'; readonly version: number }

/** The versions of learned routers: how they were judged, and which of them decides. */
export function RoutingPage() {
  const routers = useResource('routers', () => get<readonly RouterRow[]>('/admin/routers'))
  const report = useResource('report', () => get<Report>('/admin/routers/report'))
  const [dialog, setDialog] = useState<OpenDialog>()
  const canChange = hasRole('editor')
  const change = (path: string, reason: string) =>
    send('POST', `/admin/routers/${path}`, {}, { reason }).then(() => {
      routers.reload()
      report.reload()
    })
  return (
    <PageLayout
      title="Routing"
      actions={
        canChange && (
          <>
            <button type="button" onClick={() => setDialog({ type: 'rollback' })}>
              Roll back
            </button>
            <button type="button" class="primary" onClick={() => setDialog({ type: 'train' })}>
              Train a version
            </button>
          </>
        )
      }
    >
      <ResourceView resource={report}>{({ verdict }) => <p>{verdict}</p>}</ResourceView>
      <ResourceView resource={routers}>
        {(list) =>
          list.length === 0 ? (
            <Empty>No version has been trained. Collect ratings with routing.learned: shadow first.</Empty>
          ) : (
            list.map((router) => (
              <RouterPanel
                key={router.version}
                router={router}
                onActivate={() => setDialog({ type: 'activate', version: router.version })}
              />
            ))
          )
        }
      </ResourceView>
      {dialog && (
        <ChangeDialog
          title={titleOf(dialog)}
          action={ACTIONS[dialog.type]}
          onClose={() => setDialog(undefined)}
          onSave={(reason) =>
            change(dialog.type === 'activate' ? `${dialog.version}/activate` : dialog.type, reason)
          }
        >
          <p>{EXPLANATIONS[dialog.type]}</p>
        </ChangeDialog>
      )}
    </PageLayout>
  )
}

interface RouterPanelProps {
  readonly router: RouterRow
  readonly onActivate: () => void
}

function RouterPanel({ router, onActivate }: RouterPanelProps) {
  const { version, is_active } = router
  const address = useAddress<HTMLDivElement>('version', String(version))
  const canActivate = hasRole('editor') && !is_active
  return (
    <div {...address}>
      <Panel
        title={`Version ${version}`}
        actions={
          canActivate && (
            <button type="button" class="quiet" onClick={onActivate}>
              Activate
            </button>
          )
        }
      >
        <RouterSummary router={router} />
      </Panel>
    </div>
  )
}

function RouterSummary({ router }: { readonly router: RouterRow }) {
  const ratings = router.models.map(({ model, ratings }) => `${model} (${ratings})`).join(', ')
  return (
    <>
      <p>
        {router.is_active && <Badge>active</Badge>} For{' '}
        {router.group_id === null ? 'everyone' : `group ${router.group_id}`}, trained{' '}
        <Time value={router.trained_at} /> from ratings of {ratings || 'no model'}
        {describeRaters(router.trained_from)}. <a href={href('/audit', { kind: 'router' })}>Changes</a> ·{' '}
        <a href={href('/routing', { version: router.version })}>Address</a>
      </p>
      <RouterFigures figures={router.figures} />
    </>
  )
}

/** Shows if one user gave most of the ratings. Imported ratings have no user. */
function describeRaters({ raters, largest_rater_share }: RouterRow['trained_from']): string {
  if (!raters) return ''
  const share = Math.round((largest_rater_share ?? 0) * 100)
  return `, of ${raters} ${raters === 1 ? 'user' : 'users'}, of whom one gave ${share} % of all`
}

const ACTIONS = { train: 'Train', activate: 'Activate', rollback: 'Roll back' } as const

const EXPLANATIONS = {
  train: 'Trains from the ratings of the last days. The new version does not decide until it is activated.',
  activate: 'It decides about the next request if routing.learned is on.',
  rollback: 'The version that was active before decides again, or the constants of the catalogue.',
} as const

function titleOf(dialog: OpenDialog): string {
  if (dialog.type === 'activate') return `Activate version ${dialog.version}?`
  return dialog.type === 'train' ? 'Train a version?' : 'Roll back?'
}
