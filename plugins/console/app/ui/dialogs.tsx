import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { ApiError, getTagged, ifUnchanged, orElse, send, type Tagged } from '../lib/api.ts'
import { useAction, useResource } from '../lib/data.ts'
import { humanize } from '../lib/format.ts'
import { showValue } from './diff.tsx'
import { type FieldSpecs, Fields, Form, TextField, toBody, toDraftValues, type Values } from './fields.tsx'
import { ErrorMessage } from './page.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** The dialog has to be answered: Escape does not close it. */
  readonly isRequired?: boolean
  readonly children: ComponentChildren
}

/** A modal dialog. The browser keeps the focus in it, and closes it with Escape. */
export function Dialog({ title, onClose, isRequired = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    element.current?.showModal()
    // Removed dialogs do not give the focus back.
    return () => before instanceof HTMLElement && before.focus()
  }, [])
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      // Browsers close it all the same when Escape is pressed again.
      onClose={isRequired ? () => element.current?.showModal() : onClose}
      onCancel={(event) => isRequired && event.preventDefault()}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface ChangeProps {
  readonly title: string
  /** What the button that makes the change is called. */
  readonly action: string
  readonly isDangerous?: boolean
  readonly fields?: FieldSpecs
  /** What the fields have at first. */
  readonly value?: object
  readonly children?: ComponentChildren
  /** Makes the change. The dialog stays open if it rejects, and shows the error. */
  readonly onSave: (body: Values, reason: string) => Promise<unknown>
}

/** Asks for what is to change and for the reason, and changes it. */
export function ChangeDialog(props: ChangeProps & { readonly onClose: () => void }) {
  const { title, action, isDangerous, fields = [], value = {}, children, onSave, onClose } = props
  const [values, setValues] = useState<Values>(() => toDraftValues(fields, value as Values))
  const [reason, setReason] = useState('')
  const save = useAction(async () => {
    const body = toBody(fields, values)
    if (body === undefined) return
    await onSave(body, reason)
    onClose()
  })
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={save.start}>
        {children}
        <Fields specs={fields} values={values} onChange={setValues} />
        <TextField
          label="Reason"
          value={reason}
          onInput={setReason}
          required
          maxLength={500}
          hint="Required. Recorded with the change, and shown in the audit trail."
        />
        {save.error && <ErrorMessage error={save.error} />}
        <div class="actions end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={save.isBusy}>
            {action}
          </button>
        </div>
      </Form>
    </Dialog>
  )
}

type ButtonKind = 'primary' | 'danger' | 'quiet'

interface DialogButtonProps {
  readonly label: string
  readonly kind?: ButtonKind | undefined
  /** Shows the dialog. Its fields start anew whenever it opens. */
  readonly children: (close: () => void) => ComponentChildren
}

function DialogButton({ label, kind, children }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class={kind} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && children(() => setOpen(false))}
    </>
  )
}

interface ChangeButtonProps extends Omit<ChangeProps, 'title' | 'action'> {
  readonly label: string
  readonly kind?: ButtonKind
  /** Default: the label, for both. */
  readonly title?: string
  readonly action?: string
}

/** A button for a change. It asks first, and for the reason. */
export function ChangeButton({ label, kind, title = label, action = label, ...dialog }: ChangeButtonProps) {
  return (
    <DialogButton label={label} kind={kind}>
      {(onClose) => <ChangeDialog {...dialog} title={title} action={action} onClose={onClose} />}
    </DialogButton>
  )
}

interface RemoveButtonProps extends Omit<ChangeButtonProps, 'onSave'> {
  readonly title: string
  readonly path: string
  readonly onRemoved: () => void
}

/** A button that deletes what an endpoint has. */
export function RemoveButton({ path, onRemoved, ...button }: RemoveButtonProps) {
  const remove = (reason: string) => send('DELETE', path, undefined, { reason }).then(onRemoved)
  return <ChangeButton isDangerous {...button} onSave={(_, reason) => remove(reason)} />
}

interface EditButtonProps {
  readonly label: string
  readonly kind?: ButtonKind
  readonly title: string
  /** The endpoint that the object is read and changed at. */
  readonly path: string
  /** PUT sends all fields, PATCH those that were changed. */
  readonly method?: 'PATCH' | 'PUT'
  /** With PATCH, sends the fields that have a value, too. */
  readonly isSetTogether?: boolean | undefined
  readonly fields: FieldSpecs
  /** What the fields have if there is no object yet. */
  readonly initial?: object
  readonly onSaved: () => void
}

/** A button to edit an object. It is saved unless somebody else was faster. */
export function EditButton({ label, kind, ...dialog }: EditButtonProps) {
  return (
    <DialogButton label={label} kind={kind}>
      {(onClose) => <EditDialog {...dialog} onClose={onClose} />}
    </DialogButton>
  )
}

interface EditDialogProps extends Omit<EditButtonProps, 'label' | 'kind'> {
  readonly onClose: () => void
}

function EditDialog(props: EditDialogProps) {
  const { path, method = 'PATCH', isSetTogether, initial = {}, onSaved, ...dialog } = props
  const { data, error } = useResource(path, () => readTagged(path))
  /** As it is now, if somebody else has changed it since the dialog was opened. */
  const newest = useRef<Tagged<Values | null>>(undefined)
  if (data === undefined) return error ? <p role="alert">{error.message}</p> : null
  const { value } = data
  async function save(body: Values, reason: string) {
    const isChanged = ([name, entered]: [string, unknown]) => !isSame(entered, value?.[name])
    const entries = Object.entries(body)
    if (method === 'PATCH' && !entries.some(isChanged)) return
    const isSent = ([name, entered]: [string, unknown]) =>
      method === 'PUT' || isChanged([name, entered]) || (isSetTogether && value?.[name] !== undefined)
    const sent = Object.fromEntries(entries.filter(isSent))
    const headers = ifUnchanged((newest.current ?? data) as Tagged<unknown>)
    await send(method, path, sent, { reason, headers }).catch(async (error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 412) throw error
      newest.current = await readTagged(path)
      throw new ApiError(error.status, describeOverlap(sent, value, newest.current.value))
    })
    onSaved()
  }
  return <ChangeDialog {...dialog} action="Save" value={value ?? initial} onSave={save} />
}

const NONE: Tagged<null> = { value: null, etag: null }

const readTagged = (path: string) => getTagged<Values | null>(path).catch(orElse(NONE))

const isSame = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

/** What somebody else has done since the dialog was opened. The gateway speaks of ETags. */
function describeOverlap(sent: Values, before: Values | null, now: Values | null): string {
  if (now === null) return 'Somebody else has deleted this meanwhile. Save again to set it anew.'
  const theirs = Object.keys(now).filter((name) => name in sent && !isSame(before?.[name], now[name]))
  const list = theirs.map((name) => `${humanize(name)} is now ${showValue(now[name], name)}`).join(', ')
  return list === ''
    ? 'Somebody else has changed other fields of this meanwhile. They stay: save again to change yours.'
    : `Somebody else has changed this meanwhile: ${list}. Save again to replace it.`
}

/** Shows a key that cannot be shown again. */
export function KeyDialog({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <Dialog title="The new key" onClose={onClose}>
      <p>Copy it now. Only a hash of it is stored, so it cannot be shown again.</p>
      <p>
        <code class="secret">{secret}</code>
      </p>
      <div class="actions end">
        <CopyButton text={secret} />
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}

/** Copies a text. Browsers allow that over HTTPS and on the same machine only; elsewhere, it is not shown. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [copied, setCopied] = useState('')
  if (!navigator.clipboard) return null
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied(text),
      () => undefined,
    )
  return (
    <button type="button" onClick={copy}>
      {copied === text ? 'Copied' : label}
    </button>
  )
}
