import type { ComponentChildren, ComponentType, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../lib/api.ts'
import { useData } from '../lib/data.ts'
import { href, navigate, type PageProps } from '../lib/router.ts'
import { hasRole, type Role } from '../lib/session.ts'
import { ChangeButton, EditButton, KeyDialog, RemoveButton } from '../ui/dialogs.tsx'
import type { FieldSpecs, Values } from '../ui/fields.tsx'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { type Column, PagedList, VirtualList, VirtualTable } from '../ui/list.tsx'
import { PageLayout, Panel, ResourcePage } from '../ui/page.tsx'

interface Item {
  readonly id: number | string
  readonly name?: string
}

export interface ItemProps<Shown> {
  readonly item: Shown
  readonly actions: ComponentChildren
}

/** A kind of things that operators manage: their list, the page of one, and their forms. */
export interface ResourceSpec<Shown extends Item> {
  /** Of the list: its endpoint below `/admin`, and its page. */
  readonly path: string
  readonly title: string
  readonly noun: string
  /** Who may change them. */
  readonly writer: Role
  /** The fields of a new one, and of the form that changes one. */
  readonly created: FieldSpecs
  readonly initial: object
  readonly edited?: FieldSpecs
  /** Whether a change replaces all fields that the gateway has values of: one that is missing is removed. */
  readonly isSetTogether?: boolean
  /** What adds one, unless it is created: the button, and the request. */
  readonly add?: {
    readonly label: string
    readonly action: string
    /** Resolves with the secret of a key, which is then shown. */
    readonly send: (list: string, body: Values, reason: string) => Promise<string | undefined>
  }
  readonly query?: object
  readonly filters?: readonly Filter[]
  readonly intro?: string
  readonly empty: string
  /** The list is a table with these columns, or else a list of items. */
  readonly columns?: readonly Column<Shown>[]
  readonly rowClass?: (item: Shown) => string
  readonly item?: (props: ItemProps<Shown>) => VNode
  /** The page of one. Without it, it is changed in the list. */
  readonly summary?: (item: Shown) => ComponentChildren
  /** The filters of its changes in the audit trail. Default: its id. */
  readonly changes?: (item: Shown) => Readonly<Record<string, unknown>>
  readonly panels?: (item: Shown, path: string) => ComponentChildren
  readonly removeLabel?: string
  /** What deleting one means. */
  readonly warning?: string
  /** Further changes. `onDone` may get the secret of a key, which is then shown. */
  readonly buttons?: (item: Shown, onDone: (secret?: string) => void) => ComponentChildren
  /** Whether nothing about it can be changed any more. */
  readonly isFinal?: (item: Shown) => boolean
  /** The endpoint of one that is not below `/admin` and the path. */
  readonly pathOf?: (item: Shown, list: string) => string
}

export function createResourcePages<Shown extends Item>(spec: ResourceSpec<Shown>): ComponentType<PageProps> {
  return ({ path: [id] }) => (id === undefined ? <List spec={spec} /> : <Details spec={spec} id={id} />)
}

interface SpecProps<Shown extends Item> {
  readonly spec: ResourceSpec<Shown>
}

interface ListProps<Shown extends Item> extends SpecProps<Shown> {
  /** The endpoint of what they are parts of, on whose page the list is a panel. */
  readonly parent?: string
}

/** The list: a page, or a panel on the page of what they are parts of. */
export function List<Shown extends Item>({ spec, parent }: ListProps<Shown>) {
  const { title, noun, created, initial, intro, filters = [], columns, item: Content } = spec
  const path = `${parent ?? '/admin'}/${spec.path}`
  const [version, setVersion] = useState(0)
  const [secret, setSecret] = useState<string>()
  const chosen = chosenFilters(filters)

  function reload(secret?: string) {
    setVersion((old) => old + 1)
    setSecret(secret)
  }

  async function create(body: Values, reason: string) {
    if (spec.add) return spec.add.send(path, body, reason).then(reload)
    const { id, key } = await post<{ id: number | string; key?: string }>(path, body, { reason })
    if (spec.panels) navigate(`/${spec.path}/${id}`)
    else reload(key)
  }

  const { label = `New ${noun}`, action = 'Create' } = spec.add ?? {}
  const add = hasRole(spec.writer) && (
    <ChangeButton
      {...{ label, action, ...(!parent && { kind: 'primary' }) }}
      fields={created}
      value={initial}
      onSave={create}
    />
  )
  const actionsOf = (item: Shown) => (
    <Actions {...{ spec, item, list: path }} kind="quiet" onDone={reload} onRemoved={reload} />
  )
  const Frame = parent ? Panel : PageLayout
  return (
    <Frame title={title} actions={add}>
      {intro && <p class="muted">{intro}</p>}
      {filters.length > 0 && <Filters filters={filters} />}
      <PagedList<Shown>
        path={path}
        query={{ ...chosen, limit: 500, ...spec.query }}
        version={version}
        empty={describeNone(chosen) ?? spec.empty}
      >
        {(items) =>
          columns ? (
            <VirtualTable
              {...(!parent && { name: spec.path })}
              columns={columns}
              items={items}
              keyOf={({ id }) => id}
              row={(item) => ({ class: spec.rowClass?.(item) })}
            />
          ) : (
            <div class={parent ? '' : 'panel'}>
              <VirtualList class="list" items={items}>
                {(item) => Content && <Content key={item.id} item={item} actions={actionsOf(item)} />}
              </VirtualList>
            </div>
          )
        }
      </PagedList>
      {secret && <KeyDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </Frame>
  )
}

/** The filter of lists that can be searched by name. */
export const BY_NAME: readonly Filter[] = [{ name: 'q', label: 'Name', type: 'text' }]

/** What an empty list says if there are filters. */
function describeNone({ q = '', ...others }: Readonly<Record<string, string>>): string | undefined {
  if (Object.values(others).some((value) => value !== '')) return 'Nothing matches. Choose fewer filters.'
  return q === '' ? undefined : `No name contains “${q}”.`
}

function Details<Shown extends Item>({ spec, id }: SpecProps<Shown> & { readonly id: string }) {
  const path = `/admin/${spec.path}/${encodeURIComponent(id)}`
  const resource = useData<Shown>(path)
  const list = `/${spec.path}`
  return (
    <ResourcePage title={`${spec.noun} ${id}`} resource={resource}>
      {(item) => (
        <PageLayout
          title={item.name ?? ''}
          actions={
            <Actions
              {...{ spec, item, list: path }}
              onDone={resource.reload}
              onRemoved={() => navigate(list)}
            />
          }
        >
          <p>
            <a href={href(list)}>{spec.title}</a> · {spec.summary?.(item)}{' '}
            <a href={href('/audit', spec.changes?.(item) ?? { [spec.noun]: item.id })}>Changes</a>
          </p>
          {spec.panels?.(item, path)}
        </PageLayout>
      )}
    </ResourcePage>
  )
}

interface ActionsProps<Shown extends Item> extends SpecProps<Shown> {
  readonly item: Shown
  /** The endpoint of the list. */
  readonly list: string
  readonly kind?: 'quiet'
  readonly onDone: (secret?: string) => void
  readonly onRemoved: () => void
}

/** The buttons that change and delete one. */
export function Actions<Shown extends Item>({
  spec,
  item,
  list,
  kind,
  onDone,
  onRemoved,
}: ActionsProps<Shown>) {
  const { noun, writer, edited, isSetTogether, removeLabel = 'Delete', warning } = spec
  if (!hasRole(writer) || spec.isFinal?.(item)) return null
  const path = spec.pathOf?.(item, list) ?? `/admin/${spec.path}/${encodeURIComponent(item.id)}`
  return (
    <span class="actions">
      {edited && (
        <EditButton
          label="Settings"
          title={`Settings of the ${noun}`}
          isSetTogether={isSetTogether}
          path={path}
          fields={edited}
          onSaved={onDone}
          {...(kind && { kind })}
        />
      )}
      {spec.buttons?.(item, onDone)}
      <RemoveButton
        label={removeLabel}
        kind={kind ?? 'danger'}
        title={`${removeLabel} ${item.name ?? `the ${noun}`}?`}
        path={path}
        onRemoved={() => onRemoved()}
      >
        {warning && <p>{warning}</p>}
      </RemoveButton>
    </span>
  )
}
