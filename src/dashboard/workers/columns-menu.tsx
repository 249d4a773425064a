/** @module dashboard/workers/columns-menu  Lets the user choose the columns of the worker list, for this browser. */
import { Menu } from '../components/menu.tsx'
import { changePreferences, usePreferences } from '../settings/preferences.ts'
import { COLUMN_CHOICES } from './use-columns.ts'

export function ColumnsMenu() {
  const { columns } = usePreferences()
  return (
    <Menu name="Columns">
      <fieldset className="columns-choice">
        <legend className="hidden">Columns</legend>
        {COLUMN_CHOICES.map(({ name, choice }) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={columns[name] ?? choice}
              onChange={({ target }) => changePreferences({ columns: { ...columns, [name]: target.checked } })}
            />{' '}
            {name}
          </label>
        ))}
        <p className="soft">The least important columns are left out while they do not fit.</p>
      </fieldset>
    </Menu>
  )
}
