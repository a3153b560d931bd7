import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { changedFields, type DraftRule, isChangedDraft, sortDrafts } from '../lib/drafts.ts'
import { formatCount } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import { summarizeRule } from '../ui/diff.tsx'
import { type Column, Table } from '../ui/list.tsx'
import { Empty, Panel, useAddress } from '../ui/page.tsx'
import { ActionBadge, Badge } from '../ui/values.tsx'

interface RuleTableProps {
  readonly title: string
  readonly drafts: readonly DraftRule[]
  readonly hits: ReadonlyMap<string, number>
  readonly canEdit: boolean
  readonly onAdd: () => void
  readonly onEdit: (draft: DraftRule) => void
  readonly onHistory: (draft: DraftRule) => void
  readonly onMove: (key: string, targetKey: string) => void
  readonly onRemove: (draft: DraftRule) => void
}

/** The rules of a kind in evaluation order. Rows can be dragged, or moved with their buttons. */
export function RuleTable(props: RuleTableProps) {
  const { title, hits, canEdit, onAdd, onEdit, onHistory, onRemove } = props
  const drafts = sortDrafts(props.drafts)
  const table = useRef<HTMLDivElement>(null)
  const [moved, setMoved] = useState<MovedRule>()

  function move(key: string, targetKey: string, direction?: Direction) {
    props.onMove(key, targetKey)
    setMoved({ key, direction })
  }

  // Browsers take the focus from a row that moves. A key that is pressed before the next frame needs it, too.
  useLayoutEffect(() => {
    if (!moved?.direction) return
    const row = [...(table.current?.querySelectorAll('tr') ?? [])].find(({ id }) => id === moved.key)
    const buttons = [...(row?.querySelectorAll<HTMLButtonElement>('[data-direction]') ?? [])]
    const same = buttons.find(({ dataset }) => dataset.direction === moved.direction)
    ;(same ?? buttons[0])?.focus()
  }, [moved])
  const columns: readonly Column<DraftRule>[] = [
    { title: 'Rule', cell: (draft) => <RuleName draft={draft} /> },
    { title: 'Looks for', class: 'mono clip', cell: ({ content }) => summarizeRule(content) },
    { title: 'Priority', kind: 'number', cell: ({ content }) => content.priority },
    {
      title: 'Hits, 24 h',
      kind: 'number',
      cell({ kind, stored }) {
        const rule = `${kind}:${stored?.id}`
        const page = kind === 'tool' ? '/tool-calls' : '/requests'
        return stored && <a href={href(page, { rule })}>{formatCount(hits.get(rule) ?? 0)}</a>
      },
    },
    {
      title: 'Actions',
      kind: 'hidden',
      class: 'row-actions',
      cell(draft, index) {
        const { key, stored, content, isRemoved } = draft
        const neighbours = { up: drafts[index - 1], down: drafts[index + 1] }
        return (
          <>
            {(['up', 'down'] as const).map((direction) => {
              const target = neighbours[direction]
              if (!canEdit || !target) return null
              const onMove = () => move(key, target.key, direction)
              return <MoveButton key={direction} name={content.name} direction={direction} onMove={onMove} />
            })}
            {stored && <RuleAction draft={draft} verb="History" onClick={onHistory} />}
            {canEdit && !isRemoved && <RuleAction draft={draft} verb="Edit" onClick={onEdit} />}
            {canEdit && (
              <RuleAction
                draft={draft}
                verb="Delete"
                label={isRemoved ? 'Keep' : 'Delete'}
                onClick={onRemove}
              />
            )}
          </>
        )
      },
    },
  ]
  const attributes = ({ key, isRemoved, content }: DraftRule): JSX.IntrinsicElements['tr'] => ({
    id: key,
    class: `${isRemoved ? 'removed' : ''} ${content.is_enabled ? '' : 'off'}`,
    draggable: canEdit,
    onDragStart: (event) => event.dataTransfer?.setData('text/plain', key),
    onDragOver: (event) => canEdit && event.preventDefault(),
    onDrop(event) {
      event.preventDefault()
      move(event.dataTransfer?.getData('text/plain') ?? '', key)
    },
  })
  const place = drafts.findIndex(({ key }) => key === moved?.key)
  const add = canEdit && (
    <button type="button" onClick={onAdd}>
      Add a rule
    </button>
  )
  return (
    <Panel title={title} actions={add}>
      {drafts.length === 0 ? (
        <Empty>No rules.</Empty>
      ) : (
        <div ref={table}>
          <Table columns={columns} items={drafts} keyOf={({ key }) => key} row={attributes} />
          <p class="hidden" role="status">
            {place >= 0 && `${drafts[place]?.content.name} is number ${place + 1} of ${drafts.length}`}
          </p>
        </div>
      )}
    </Panel>
  )
}

type Direction = 'up' | 'down'

interface MovedRule {
  readonly key: string
  /** Of the button that moved it; undefined if it was dragged. */
  readonly direction: Direction | undefined
}

interface RuleProps {
  readonly draft: DraftRule
}

function RuleName({ draft }: RuleProps) {
  const { key, stored, content, isRemoved } = draft
  return (
    <>
      {content.action ? <ActionBadge action={String(content.action)} /> : null}{' '}
      <b {...useAddress<HTMLElement>('rule', key)}>{content.name}</b>{' '}
      {!content.is_enabled && <Badge>disabled</Badge>} {!stored && <Badge tone="good">new</Badge>}
      {stored && isChangedDraft(draft) && (
        <Badge tone="info">{isRemoved ? 'deleted' : describeChange(draft)}</Badge>
      )}
      {stored?.pattern_error && <small class="issue block">Never matches: {stored.pattern_error}</small>}
    </>
  )
}

interface RuleActionProps extends RuleProps {
  readonly verb: string
  readonly label?: string
  readonly onClick: (draft: DraftRule) => void
}

function RuleAction({ draft, verb, label = verb, onClick }: RuleActionProps) {
  const name = verb === 'History' ? `History of ${draft.content.name}` : `${verb} ${draft.content.name}`
  return (
    <button type="button" class="quiet" onClick={() => onClick(draft)} aria-label={name}>
      {label}
    </button>
  )
}

function describeChange(draft: DraftRule): string {
  return `changed: ${Object.keys(changedFields(draft)).join(', ')}`
}

function MoveButton({ name, direction, onMove }: { name: string; direction: Direction; onMove: () => void }) {
  const label = `Move ${name} ${direction}`
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={label}
      data-direction={direction}
      onClick={onMove}
    >
      {direction === 'up' ? '↑' : '↓'}
    </button>
  )
}
