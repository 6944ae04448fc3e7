// A vector whose copies share their elements until one of them is changed: for what is decided once and copied often.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

namespace hone {

template <class T>
class SharedVector {
 public:
  SharedVector() = default;
  SharedVector(std::vector<T> elements)
      : elements_(elements.empty() ? nullptr : std::make_shared<std::vector<T>>(std::move(elements))) {}
  SharedVector(std::initializer_list<T> elements) : SharedVector(std::vector<T>(elements)) {}

  operator const std::vector<T>&() const { return all(); }
  const T* begin() const { return all().data(); }
  const T* end() const { return begin() + size(); }
  size_t size() const { return all().size(); }
  bool empty() const { return all().empty(); }
  const T& operator[](size_t i) const { return all()[i]; }
  const T& front() const { return all().front(); }
  const T& back() const { return all().back(); }
  bool operator==(const SharedVector& other) const { return all() == other.all(); }

  // The elements of this copy alone.
  std::vector<T>& edit() {
    if (!elements_) elements_ = std::make_shared<std::vector<T>>();
    else if (elements_.use_count() > 1) elements_ = std::make_shared<std::vector<T>>(*elements_);
    return *elements_;
  }
  void push_back(T element) { edit().push_back(std::move(element)); }

 private:
  const std::vector<T>& all() const {
    static const std::vector<T> none;
    return elements_ ? *elements_ : none;
  }

  std::shared_ptr<std::vector<T>> elements_;  // none: empty
};

}  // namespace hone
