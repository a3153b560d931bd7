import type { ComponentChildren } from 'preact'
import { ApiError, getTagged, ifUnchanged, send, type Tagged } from '../lib/api.ts'
import { useResource } from '../lib/resource.ts'
import { DialogButton } from './dialog-button.tsx'

/** What a dialog edits, and how it is saved and closed. */
export interface Editing<Value> {
  /** As it is when the dialog opens. Null if there is none yet. */
  readonly value: Value | null
  /** Rejects with 412 if it has changed since the dialog was opened. */
  save(body: object, reason: string): Promise<unknown>
  close(): void
}

interface EditButtonProps<Value> {
  readonly label: string
  readonly kind?: 'quiet'
  /** The endpoint that the object is read and changed at. */
  readonly path: string
  readonly method?: 'PATCH' | 'PUT'
  readonly onSaved: () => void
  readonly children: (editing: Editing<Value>) => ComponentChildren
}

/** A button that opens a dialog in which an object is edited, and saved unless somebody else was faster. */
export function EditButton<Value>({ label, kind, ...dialog }: EditButtonProps<Value>) {
  return (
    <DialogButton label={label} {...(kind && { kind })}>
      {(close) => <EditDialog {...dialog} close={close} />}
    </DialogButton>
  )
}

interface EditDialogProps<Value> extends Omit<EditButtonProps<Value>, 'label' | 'kind'> {
  readonly close: () => void
}

function EditDialog<Value>({ path, method = 'PATCH', onSaved, children, close }: EditDialogProps<Value>) {
  const { data: read, error } = useResource(path, () => getTagged<Value>(path).catch(orNone))
  if (read === undefined) return error ? <p role="alert">{error.message}</p> : null
  const save = (body: object, reason: string) =>
    send(method, path, body, { reason, headers: ifUnchanged(read) }).then(onSaved, refuse)
  return <>{children({ value: read.value, save, close })}</>
}

/** The gateway speaks of ETags. */
function refuse(error: unknown): never {
  if (!(error instanceof ApiError) || error.status !== 412) throw error
  const message =
    'Somebody else has changed this meanwhile. Close the dialog, and open it again to see it as it is now.'
  throw new ApiError(error.status, error.code, message)
}

function orNone(error: unknown): Tagged<null> {
  if (error instanceof ApiError && error.status === 404) return { value: null, etag: null }
  throw error
}
