--- Of the page's script: elements, and numbers as people read them.

return [=[
  const byId = (id) => document.getElementById(id);
  const isArray = Array.isArray, isTable = (value) => typeof value === "object" && value !== null;
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // 1,234,567
  const grouped = (n) => n.toLocaleString("en-US", { maximumFractionDigits: 8 });
  const count = (n, one, many) => grouped(n) + " " + (n === 1 ? one : many || one + "s");
  const scaled = (n, by, sign) => {
    const value = n / by;
    return (value < 9.95 ? value.toFixed(1).replace(".0", "") : grouped(Math.round(value))) + sign;
  };
  // 1.2M
  const compact = (n) => n < 1000 ? grouped(n) : n < 999500 ? scaled(n, 1e3, "k") : scaled(n, 1e6, "M");
  const duration = (ms) => {
    if (ms === undefined) return "open";
    if (ms < 0.05) return ms > 0 ? "<0.1 ms" : "0 ms";
    if (ms < 999.5) return ms.toFixed(ms < 9.95 ? 1 : 0) + " ms";
    if (ms < 59950) return (ms / 1000).toFixed(ms < 9995 ? 2 : 1) + " s";
    const seconds = Math.round(ms / 1000), minutes = Math.floor(seconds / 60);
    if (minutes < 60) return minutes + " min " + seconds % 60 + " s";
    return grouped(Math.floor(minutes / 60)) + " h " + minutes % 60 + " min";
  };
  // Two digits that count, below ten cents.
  const money = (n) => {
    if (n === 0) return "$0";
    if (n >= 0.1) return "$" + n.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    return "$" + n.toFixed(Math.min(8, Math.max(2, 1 - Math.floor(Math.log10(Math.abs(n))))));
  };
  const date = (ms) => {
    const at = new Date(ms), two = (n) => String(n).padStart(2, "0");
    if (isNaN(at)) return "?";
    return at.getFullYear() + "-" + two(at.getMonth() + 1) + "-" + two(at.getDate()) + " " + two(at.getHours()) + ":" +
      two(at.getMinutes()) + ":" + two(at.getSeconds());
  };

  const SECONDS = new Set(["seconds", "waited", "first_delta", "dns", "connect", "tls", "first_byte"]);
  const LABELS = new Set(["port", "number", "status_code", "exit_code", "code", "error_code", "request_id", "version"]);
  // A field's value on a line.
  const words = (name, value) => {
    if (typeof value !== "number" || LABELS.has(name)) return String(value);
    if (SECONDS.has(name)) return duration(value * 1000);
    return name === "cost" ? "$" + grouped(value) : grouped(value);
  };
]=]
