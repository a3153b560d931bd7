import type { ComponentChildren, ComponentType, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../lib/api.ts'
import { useData } from '../lib/data.ts'
import { href, navigate, type PageProps, route } from '../lib/router.ts'
import { hasRole, type Role } from '../lib/session.ts'
import { ChangeButton, EditButton, KeyDialog, RemoveButton } from '../ui/dialogs.tsx'
import type { FieldSpecs, Values } from '../ui/fields.tsx'
import { Filters } from '../ui/filters.tsx'
import { type Column, PagedList, VirtualList, VirtualTable } from '../ui/list.tsx'
import { PageLayout, ResourcePage } from '../ui/page.tsx'

interface Item {
  readonly id: number | string
  readonly name: string
}

export interface ItemProps<Shown> {
  readonly item: Shown
  readonly actions: ComponentChildren
}

/** The pages of a kind of things that operators manage: the list, one of them, and their forms. */
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
  readonly edited: FieldSpecs
  readonly query?: object
  readonly isSearched?: boolean
  readonly intro?: string
  readonly empty: string
  /** The list is a table with these columns, or else a list of items. */
  readonly columns?: readonly Column<Shown>[]
  readonly rowClass?: (item: Shown) => string
  readonly item?: (props: ItemProps<Shown>) => VNode
  /** The page of one. Without it, it is changed in the list. */
  readonly summary?: (item: Shown) => ComponentChildren
  readonly panels?: (item: Shown, path: string) => ComponentChildren
  readonly editLabel?: string
  readonly editTitle?: (item: Shown) => string
  readonly removeLabel?: string
  /** What deleting one means. */
  readonly warning: string
}

export function createResourcePages<Shown extends Item>(spec: ResourceSpec<Shown>): ComponentType<PageProps> {
  return ({ path: [id] }) => (id === undefined ? <List spec={spec} /> : <Details spec={spec} id={id} />)
}

interface SpecProps<Shown extends Item> {
  readonly spec: ResourceSpec<Shown>
}

function List<Shown extends Item>({ spec }: SpecProps<Shown>) {
  const { path, title, noun, created, initial, intro, isSearched, columns, item: Content } = spec
  const [version, setVersion] = useState(0)
  const [secret, setSecret] = useState<string>()
  const reload = () => setVersion((old) => old + 1)
  const q = isSearched ? (route.value.query.get('q') ?? '') : ''

  async function create(body: Values, reason: string) {
    const { id, key } = await post<{ id: number | string; key?: string }>(`/admin/${path}`, body, { reason })
    if (spec.panels) return navigate(`/${path}/${id}`)
    reload()
    setSecret(key)
  }

  const add = hasRole(spec.writer) && (
    <ChangeButton
      label={`New ${noun}`}
      kind="primary"
      action="Create"
      fields={created}
      value={initial}
      onSave={create}
    />
  )
  return (
    <PageLayout title={title} actions={add}>
      {intro && <p class="muted">{intro}</p>}
      {isSearched && <Filters filters={[{ name: 'q', label: 'Name', type: 'text' }]} />}
      <PagedList<Shown>
        path={`/admin/${path}`}
        query={{ q, limit: 500, ...spec.query }}
        version={version}
        empty={q === '' ? spec.empty : `No name contains “${q}”.`}
      >
        {(items) =>
          columns ? (
            <VirtualTable
              columns={columns}
              items={items}
              keyOf={({ id }) => id}
              row={(item) => ({ class: spec.rowClass?.(item) })}
            />
          ) : (
            <div class="panel">
              <VirtualList class="list" items={items}>
                {(item) =>
                  Content && (
                    <Content
                      key={item.id}
                      item={item}
                      actions={
                        <Actions spec={spec} item={item} kind="quiet" onChanged={reload} onRemoved={reload} />
                      }
                    />
                  )
                }
              </VirtualList>
            </div>
          )
        }
      </PagedList>
      {secret && <KeyDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </PageLayout>
  )
}

function Details<Shown extends Item>({ spec, id }: SpecProps<Shown> & { readonly id: string }) {
  const path = `/admin/${spec.path}/${encodeURIComponent(id)}`
  const resource = useData<Shown>(path)
  const list = `/${spec.path}`
  return (
    <ResourcePage title={`${spec.noun} ${id}`} resource={resource}>
      {(item) => (
        <PageLayout
          title={item.name}
          actions={
            <Actions spec={spec} item={item} onChanged={resource.reload} onRemoved={() => navigate(list)} />
          }
        >
          <p>
            <a href={href(list)}>{spec.title}</a> · {spec.summary?.(item)}{' '}
            <a href={href('/audit', { [spec.noun]: item.id })}>Changes</a>
          </p>
          {spec.panels?.(item, path)}
        </PageLayout>
      )}
    </ResourcePage>
  )
}

interface ActionsProps<Shown extends Item> extends SpecProps<Shown> {
  readonly item: Shown
  readonly kind?: 'quiet'
  readonly onChanged: () => void
  readonly onRemoved: () => void
}

/** The buttons that change and delete one. */
function Actions<Shown extends Item>({ spec, item, kind, onChanged, onRemoved }: ActionsProps<Shown>) {
  const { noun, writer, edited, editLabel = 'Settings', removeLabel = 'Delete' } = spec
  if (!hasRole(writer)) return null
  const path = `/admin/${spec.path}/${encodeURIComponent(item.id)}`
  return (
    <span class="actions">
      <EditButton
        label={editLabel}
        title={spec.editTitle?.(item) ?? `Settings of the ${noun}`}
        path={path}
        fields={edited}
        onSaved={onChanged}
        {...(kind && { kind })}
      />
      <RemoveButton
        label={removeLabel}
        kind={kind ?? 'danger'}
        title={`${removeLabel} ${item.name}?`}
        path={path}
        onRemoved={onRemoved}
      >
        <p>{spec.warning}</p>
      </RemoveButton>
    </span>
  )
}
